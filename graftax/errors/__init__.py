"""Errors: the module `graftax.core.errors` under its public name, for import statements."""

import sys

from graftax.core import errors
from graftax.core.errors import *

sys.modules[__name__] = errors
