"""Layers, and the functions and policies that belong to them."""

import typing as _typing

from graftax.core.namespaces import answering as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.layers.activation import Activation as Activation
from graftax.layers.activity_regularization import ActivityRegularization as ActivityRegularization
from graftax.layers.adaptive_pooling import AdaptiveAveragePooling1D as AdaptiveAveragePooling1D
from graftax.layers.adaptive_pooling import AdaptiveAveragePooling2D as AdaptiveAveragePooling2D
from graftax.layers.adaptive_pooling import AdaptiveAveragePooling3D as AdaptiveAveragePooling3D
from graftax.layers.adaptive_pooling import AdaptiveMaxPooling1D as AdaptiveMaxPooling1D
from graftax.layers.adaptive_pooling import AdaptiveMaxPooling2D as AdaptiveMaxPooling2D
from graftax.layers.adaptive_pooling import AdaptiveMaxPooling3D as AdaptiveMaxPooling3D
from graftax.layers.alpha_dropout import AlphaDropout as AlphaDropout
from graftax.layers.attention import AdditiveAttention as AdditiveAttention
from graftax.layers.attention import Attention as Attention
from graftax.layers.attention_cache import AttentionCache as AttentionCache
from graftax.layers.batch_normalization import BatchNormalization as BatchNormalization
from graftax.layers.bidirectional import Bidirectional as Bidirectional
from graftax.layers.conv import Conv1D as Conv1D
from graftax.layers.conv import Conv2D as Conv2D
from graftax.layers.conv import Conv3D as Conv3D
from graftax.layers.conv_lstm import ConvLSTM2D as ConvLSTM2D
from graftax.layers.conv_transpose import Conv1DTranspose as Conv1DTranspose
from graftax.layers.conv_transpose import Conv2DTranspose as Conv2DTranspose
from graftax.layers.conv_transpose import Conv3DTranspose as Conv3DTranspose
from graftax.layers.dense import Dense as Dense
from graftax.layers.depthwise_conv import DepthwiseConv1D as DepthwiseConv1D
from graftax.layers.depthwise_conv import DepthwiseConv2D as DepthwiseConv2D
from graftax.layers.dot import Dot as Dot
from graftax.layers.drop_path import DropPath as DropPath
from graftax.layers.dropout import Dropout as Dropout
from graftax.layers.einsum_dense import EinsumDense as EinsumDense
from graftax.layers.elu_layer import ELU as ELU
from graftax.layers.embedding import Embedding as Embedding
from graftax.layers.gaussian_noise import GaussianDropout as GaussianDropout
from graftax.layers.gaussian_noise import GaussianNoise as GaussianNoise
from graftax.layers.gelu_layer import GELU as GELU
from graftax.layers.global_pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from graftax.layers.global_pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from graftax.layers.global_pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from graftax.layers.global_pooling import GlobalAvgPool1D as GlobalAvgPool1D
from graftax.layers.global_pooling import GlobalAvgPool2D as GlobalAvgPool2D
from graftax.layers.global_pooling import GlobalAvgPool3D as GlobalAvgPool3D
from graftax.layers.global_pooling import GlobalMaxPool1D as GlobalMaxPool1D
from graftax.layers.global_pooling import GlobalMaxPool2D as GlobalMaxPool2D
from graftax.layers.global_pooling import GlobalMaxPool3D as GlobalMaxPool3D
from graftax.layers.global_pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from graftax.layers.global_pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from graftax.layers.global_pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from graftax.layers.group_normalization import GroupNormalization as GroupNormalization
from graftax.layers.group_normalization import InstanceNormalization as InstanceNormalization
from graftax.layers.gru import GRU as GRU
from graftax.layers.gru import GRUCell as GRUCell
from graftax.layers.identity import Identity as Identity
from graftax.layers.lambda_layer import Lambda as Lambda
from graftax.layers.layer import Layer as Layer
from graftax.layers.layer_normalization import LayerNormalization as LayerNormalization
from graftax.layers.lstm import LSTM as LSTM
from graftax.layers.lstm import LSTMCell as LSTMCell
from graftax.layers.masking_layer import Masking as Masking
from graftax.layers.merge import Add as Add
from graftax.layers.merge import Average as Average
from graftax.layers.merge import Concatenate as Concatenate
from graftax.layers.merge import Maximum as Maximum
from graftax.layers.merge import Minimum as Minimum
from graftax.layers.merge import Multiply as Multiply
from graftax.layers.merge import Subtract as Subtract
from graftax.layers.mixture_of_experts import MixtureOfExperts as MixtureOfExperts
from graftax.layers.multi_head_attention import MultiHeadAttention as MultiHeadAttention
from graftax.layers.normalization import Normalization as Normalization
from graftax.layers.policy import DTypePolicy as DTypePolicy
from graftax.layers.pooling import AveragePooling1D as AveragePooling1D
from graftax.layers.pooling import AveragePooling2D as AveragePooling2D
from graftax.layers.pooling import AveragePooling3D as AveragePooling3D
from graftax.layers.pooling import AvgPool1D as AvgPool1D
from graftax.layers.pooling import AvgPool2D as AvgPool2D
from graftax.layers.pooling import AvgPool3D as AvgPool3D
from graftax.layers.pooling import MaxPool1D as MaxPool1D
from graftax.layers.pooling import MaxPool2D as MaxPool2D
from graftax.layers.pooling import MaxPool3D as MaxPool3D
from graftax.layers.pooling import MaxPooling1D as MaxPooling1D
from graftax.layers.pooling import MaxPooling2D as MaxPooling2D
from graftax.layers.pooling import MaxPooling3D as MaxPooling3D
from graftax.layers.position_embedding import PositionEmbedding as PositionEmbedding
from graftax.layers.position_embedding import SinePositionEncoding as SinePositionEncoding
from graftax.layers.recurrent_cell import StackedRNNCells as StackedRNNCells
from graftax.layers.relu_layers import LeakyReLU as LeakyReLU
from graftax.layers.relu_layers import PReLU as PReLU
from graftax.layers.relu_layers import ReLU as ReLU
from graftax.layers.reshape import Flatten as Flatten
from graftax.layers.reshape import Permute as Permute
from graftax.layers.reshape import RepeatVector as RepeatVector
from graftax.layers.reshape import Reshape as Reshape
from graftax.layers.rms_normalization import RMSNormalization as RMSNormalization
from graftax.layers.rnn import RNN as RNN
from graftax.layers.rotary import RotaryEmbedding as RotaryEmbedding
from graftax.layers.separable_conv import SeparableConv1D as SeparableConv1D
from graftax.layers.separable_conv import SeparableConv2D as SeparableConv2D
from graftax.layers.simple_rnn import SimpleRNN as SimpleRNN
from graftax.layers.simple_rnn import SimpleRNNCell as SimpleRNNCell
from graftax.layers.softmax_layer import Softmax as Softmax
from graftax.layers.spatial_dropout import SpatialDropout1D as SpatialDropout1D
from graftax.layers.spatial_dropout import SpatialDropout2D as SpatialDropout2D
from graftax.layers.spatial_dropout import SpatialDropout3D as SpatialDropout3D
from graftax.layers.stacking import Stack as Stack
from graftax.layers.time_distributed import TimeDistributed as TimeDistributed
from graftax.layers.transformer import TransformerDecoder as TransformerDecoder
from graftax.layers.transformer import TransformerEncoder as TransformerEncoder
from graftax.layers.unit_normalization import UnitNormalization as UnitNormalization
from graftax.layers.up_sampling import PixelShuffle as PixelShuffle
from graftax.layers.up_sampling import UpSampling1D as UpSampling1D
from graftax.layers.up_sampling import UpSampling2D as UpSampling2D
from graftax.layers.up_sampling import UpSampling3D as UpSampling3D
from graftax.layers.zero_padding import Cropping1D as Cropping1D
from graftax.layers.zero_padding import Cropping2D as Cropping2D
from graftax.layers.zero_padding import Cropping3D as Cropping3D
from graftax.layers.zero_padding import ZeroPadding1D as ZeroPadding1D
from graftax.layers.zero_padding import ZeroPadding2D as ZeroPadding2D
from graftax.layers.zero_padding import ZeroPadding3D as ZeroPadding3D

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("layers")

__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above


def __dir__() -> list[str]:
    return sorted(__all__)
