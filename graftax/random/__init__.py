"""Random numbers: the module `graftax.variables.random` under its public name, for import statements."""

import sys

from graftax.variables import random
from graftax.variables.random import *

sys.modules[__name__] = random
