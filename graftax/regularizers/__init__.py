"""Regularizers: the module `graftax.variables.regularizers` under its public name, for import statements."""

import sys

from graftax.variables import regularizers
from graftax.variables.regularizers import *

sys.modules[__name__] = regularizers
