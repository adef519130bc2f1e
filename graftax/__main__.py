"""``python -m graftax``: the command line."""

import sys

from graftax.cli.main import main

sys.exit(main())
