"""Initializers: the module `graftax.variables.initializers` under its public name, for import statements."""

import sys

from graftax.variables import initializers
from graftax.variables.initializers import *

sys.modules[__name__] = initializers
