"""Losses that other libraries have under other names, or that are not here: what to write instead."""

from __future__ import annotations

from graftax.core.known_names import ForeignNames

_SHORT = "the class has its long name; short ones are for compile"
_TORCH = "this is the name in PyTorch"
_ABSENT = "graftax has no such loss"
_OWN = "a function of (y_true, y_pred) that gives one number for each sample, or a Loss with a call of your own"

NAMES: ForeignNames = {
    "crossentropy": (
        "which crossentropy is meant depends on the targets",
        "SparseCategoricalCrossentropy for labels, CategoricalCrossentropy for one-hot rows, BinaryCrossentropy for "
        "0 and 1; from_logits=True if the model ends without softmax or sigmoid",
    ),
    "crossentropyloss": (
        _TORCH,
        "SparseCategoricalCrossentropy(from_logits=True), which takes labels and logits, and label_smoothing=",
    ),
    "nllloss": (_TORCH, "SparseCategoricalCrossentropy(from_logits=True), for which log probabilities are logits"),
    "bceloss": (_TORCH, "BinaryCrossentropy()"),
    "bcewithlogitsloss": (_TORCH, "BinaryCrossentropy(from_logits=True)"),
    "mseloss": (_TORCH, "MeanSquaredError()"),
    "l1loss": (_TORCH, "MeanAbsoluteError()"),
    "smoothl1loss": (_TORCH, "Huber()"),
    "huberloss": (_TORCH, "Huber()"),
    "kldivloss": (_TORCH, "KLDivergence(), which takes probabilities on both sides"),
    "poissonnllloss": (_TORCH, "Poisson(), which takes rates"),
    "l1": ("as a loss it has another name", "mean_absolute_error"),
    "l2": ("as a loss it has another name", "mean_squared_error"),
    "rmse": (
        "its slope is nan where the error is 0, so that it is no loss",
        "mean_squared_error, with the metric rmse",
    ),
    "accuracy": ("it has no slope, so that it is no loss", 'a crossentropy, with metrics=["accuracy"]'),
    "ctcloss": (_TORCH, "CTC(), which takes labels padded with the blank"),
    "gaussiannllloss": (_TORCH, "GaussianNLL(from_log_variance=False), with means and variances in one array"),
    "tripletmarginloss": (_TORCH, "TripletSemiHard(), which finds the triplets by labels"),
    "diceloss": ("the class has no Loss in its name", "Dice()"),
    "focal": ("there are two", "BinaryFocalCrossentropy() or CategoricalFocalCrossentropy()"),
    "focalloss": ("there are two", "BinaryFocalCrossentropy() or CategoricalFocalCrossentropy()"),
    "sigmoidfocalcrossentropy": ("the name in TensorFlow Addons", "BinaryFocalCrossentropy(True)"),
    "infonce": ("it has another name", "NTXent(), with one label for the views of a sample"),
    "tripletsemihardloss": ("the name in TensorFlow Addons", "TripletSemiHard()"),
} | dict.fromkeys(("polyloss", "fenchelyoung", "fenchelyoungloss", "marginrankingloss", "softmargin"), (_ABSENT, _OWN))

CLASSES: ForeignNames = {
    "mse": (_SHORT, "graftax.losses.MeanSquaredError"),
    "mae": (_SHORT, "graftax.losses.MeanAbsoluteError"),
    "mape": (_SHORT, "graftax.losses.MeanAbsolutePercentageError"),
    "msle": (_SHORT, "graftax.losses.MeanSquaredLogarithmicError"),
    "bce": (_SHORT, "graftax.losses.BinaryCrossentropy"),
    "kld": (_SHORT, "graftax.losses.KLDivergence"),
    **{name: answer for name, answer in NAMES.items() if answer[0] != _TORCH},
}
"""Likewise for names of classes, which have no short forms."""
