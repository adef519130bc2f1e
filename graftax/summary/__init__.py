"""Summaries: the module `graftax.training.summary` under its public name, for import statements."""

import sys

from graftax.training import summary
from graftax.training.summary import *

sys.modules[__name__] = summary
