"""What TensorFlow, Keras, PyTorch and optax have after the three gradients of the fixtures, written down once."""

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import (
    LAMB,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lion,
    Nadam,
    RMSprop,
    schedules,
)

ROWS = {
    "SGD": (SGD(0.1), [0.96, -2.03, 0.455]),
    "momentum": (SGD(0.1, momentum=0.9), [0.9159, -2.0048, 0.4082]),
    "Nesterov": (SGD(0.1, momentum=0.9, nesterov=True), [0.88431, -2.03432, 0.37238]),
    "Adam, Keras": (Adam(0.1, epsilon=1e-2), [0.8946249, -1.9772859, 0.3875315]),
    "Adam, torch": (Adam(0.1, epsilon=1e-2, epsilon_form="torch"), [0.7539802, -1.9237807, 0.2850454]),
    "AMSGrad": (Adam(0.1, epsilon=1e-8, amsgrad=True), [0.73731, -1.91910, 0.27625]),
    "AdamW": (AdamW(0.1, 0.1, epsilon=1e-8), [0.71049, -1.86195, 0.26393]),
    "RMSprop, inside": (RMSprop(0.1, epsilon=1e-2), [0.69199, -2.14413, 0.18292]),
    "RMSprop, outside": (RMSprop(0.1, epsilon=1e-2, epsilon_form="torch"), [0.48577, -2.11875, 0.09276]),
    "RMSprop, momentum": (RMSprop(0.1, momentum=0.5, epsilon=1e-2), [0.51415, -2.05874, 0.03814]),
    "RMSprop, momentum, torch": (
        RMSprop(0.1, momentum=0.5, epsilon=1e-2, epsilon_form="torch"),
        [0.16859, -1.97820, -0.09714],
    ),
    "RMSprop, centered": (RMSprop(0.1, centered=True, epsilon=1e-2), [0.68293, -2.14607, 0.17275]),
    "RMSprop, first TensorFlow": (RMSprop(0.1, epsilon=1e-2, initial_rms=1.0), [0.9566, -2.0360, 0.4511]),
    "Adagrad, inside": (Adagrad(0.1, epsilon=1e-2), [0.90567, -2.04407, 0.40342]),
    "Adagrad, outside": (Adagrad(0.1, epsilon=1e-2, epsilon_form="torch"), [0.90512, -2.04368, 0.40323]),
    "Adadelta": (Adadelta(1.0, rho=0.9, epsilon=1e-6), [0.99258, -2.00323, 0.49500]),
    "Adamax": (Adamax(0.1, epsilon=1e-2), [0.80106, -1.91421, 0.31837]),
    "Nadam, Keras": (Nadam(0.1, epsilon=1e-8, momentum_decay=1.0), [0.78393, -2.02478, 0.33948]),
    "Nadam, torch": (Nadam(0.1, epsilon=1e-8), [0.78419, -2.03272, 0.33884]),
    "Nadam, optax": (Nadam(0.1, epsilon=1e-8, momentum_decay=None), [0.67381, -1.95733, 0.24620]),
    "Lion": (Lion(0.1), [0.7, -2.1, 0.4]),
    "LAMB": (LAMB(0.1, epsilon=1e-6), [0.56564, -1.89881, 0.13984]),
    "FTRL": (Ftrl(0.1), [-0.0506958, -0.3539013, 0.0383552]),
    "decay": (SGD(0.1, weight_decay=0.1), [0.930798, -1.970896, 0.440696]),
    "momentum, decay": (SGD(0.1, momentum=0.9, weight_decay=0.1), [0.88679, -1.94588, 0.39417]),
    "momentum, L2": (SGD(0.1, momentum=0.9, l2=0.1), [0.86096, -1.89422, 0.38148]),
    "clipnorm": (SGD(0.1, clipnorm=0.2), [0.97591, -2.01345, 0.47814]),
    "rate that falls": (SGD(schedules.InverseTimeDecay(0.1, 1, 0.5)), [0.97, -2.00667, 0.46333]),
}


@pytest.mark.parametrize("name", ROWS)
def test_after_three_steps(name, three_steps):
    optimizer, expected = ROWS[name]
    np.testing.assert_allclose(three_steps(optimizer), expected, atol=2e-5)


def test_the_average_of_sgd():
    optimizer = SGD(0.1, ema_momentum=0.9)
    w = gx.Variable([1.0, -2.0, 0.5])
    for gradient in ([0.1, -0.2, 0.3], [0.3, 0.1, -0.05], [0.0, 0.4, 0.2]):
        optimizer.apply([gradient], [w])
    np.testing.assert_allclose(optimizer.slot(w, "moving_average").numpy(), [0.98430, -1.98590, 0.46895], atol=1e-5)
