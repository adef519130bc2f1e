"""Callbacks: the module `graftax.training.callbacks` under its public name, for import statements."""

import sys

from graftax.training import callbacks
from graftax.training.callbacks import *

sys.modules[__name__] = callbacks
