"""Activations: the module `graftax.layers.activations` under its public name, for import statements."""

import sys

from graftax.layers import activations
from graftax.layers.activations import *

sys.modules[__name__] = activations
