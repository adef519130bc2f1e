"""Layers, and the functions and policies that belong to them."""

from graftax.layers.batch_normalization import BatchNormalization as BatchNormalization
from graftax.layers.conv import Conv1D as Conv1D
from graftax.layers.conv import Conv2D as Conv2D
from graftax.layers.conv import Conv3D as Conv3D
from graftax.layers.dense import Dense as Dense
from graftax.layers.dropout import Dropout as Dropout
from graftax.layers.layer import Layer as Layer
from graftax.layers.policy import DTypePolicy as DTypePolicy
from graftax.layers.pooling import AveragePooling1D as AveragePooling1D
from graftax.layers.pooling import AveragePooling2D as AveragePooling2D
from graftax.layers.pooling import AveragePooling3D as AveragePooling3D
from graftax.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from graftax.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from graftax.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from graftax.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from graftax.layers.pooling import MaxPooling1D as MaxPooling1D
from graftax.layers.pooling import MaxPooling2D as MaxPooling2D
from graftax.layers.pooling import MaxPooling3D as MaxPooling3D
from graftax.layers.reshape import Flatten as Flatten
from graftax.layers.reshape import Reshape as Reshape
