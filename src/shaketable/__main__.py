"""``python -m shaketable``."""

import sys

from shaketable.cli.main import main

sys.exit(main())
