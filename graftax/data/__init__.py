"""Data for fit: the module `graftax.training.data` under its public name, for import statements."""

import sys

from graftax.training import data
from graftax.training.data import *

sys.modules[__name__] = data
