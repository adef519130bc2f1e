"""Adapters by name: the module `graftax.reparam.adapters` under its public name, for import statements."""

import sys

from graftax.reparam import adapters
from graftax.reparam.adapters import *

sys.modules[__name__] = adapters
