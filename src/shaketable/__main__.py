"""``python -m shaketable``."""

import sys

from shaketable.cli import main

sys.exit(main())
