"""``python -m shaketable``."""

import os
import sys
from pathlib import Path

if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    # Python puts the working directory first, where files of others may lie
    here = sys.path.pop(0)
    if Path(__file__).parents[1] == Path(here):  # of this package
        sys.path.append(here)

from shaketable.cli.main import main

sys.exit(main())
