"""Constraints: the module `graftax.variables.constraints` under its public name, for import statements."""

import sys

from graftax.variables import constraints
from graftax.variables.constraints import *

sys.modules[__name__] = constraints
