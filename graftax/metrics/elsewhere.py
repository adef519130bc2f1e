"""Metrics that other libraries have under other names, or that are not here: what to write instead."""

from __future__ import annotations

from graftax.core.known_names import Elsewhere

_OWN = (
    "a Metric of your own, with sums in add_variable(shape), update(y_true, y_pred) and result(); "
    "or a function of (y_true, y_pred), if it is a mean over samples"
)
_ABSENT = "graftax has no such metric"
_BY_CLASS = "it has another name here"
_BY_NAME = "it is a metric by name, without a class"
_SHORT = "the class has its long name; short ones are for compile"

ELSEWHERE: Elsewhere = {
    "f1": (_BY_CLASS, 'F1Score(average="macro"), or "micro", "weighted", None for each class; by name "f1_score"'),
    **dict.fromkeys(("prauc", "aucpr"), (_BY_CLASS, 'AUC(curve="PR")')),
    **dict.fromkeys(("rocauc", "aucroc"), (_BY_CLASS, 'AUC(), or "auc"')),
    "topk": (
        "which one is meant depends on the targets",
        "top_k_categorical_accuracy or sparse_top_k_categorical_accuracy",
    ),
    "loss": ("fit shows the loss in any case", "leave it out"),
    "valloss": ("fit shows it as soon as there is validation_data", "leave it out"),
} | dict.fromkeys(
    (
        "binaryiou",
        "cohenkappa",
        "confusionmatrix",
        "iou",
        "matthewscorrelation",
        "meaniou",
        "meanrelativeerror",
        "onehotiou",
        "onehotmeaniou",
        "precisionatrecall",
        "r2",
        "r2score",
        "recallatprecision",
        "sensitivityatspecificity",
        "specificityatsensitivity",
    ),
    (_ABSENT, _OWN),
)

CLASSES: Elsewhere = {
    **{
        name: (_SHORT, f"graftax.metrics.{full}")
        for name, full in {
            "mse": "MeanSquaredError",
            "mae": "MeanAbsoluteError",
            "rmse": "RootMeanSquaredError",
            "bce": "BinaryCrossentropy",
        }.items()
    },
    **{
        squashed: (_BY_NAME, f'graftax.metrics.get("{name}")')
        for squashed, name in {
            "meanabsolutepercentageerror": "mape",
            "mape": "mape",
            "meansquaredlogarithmicerror": "msle",
            "msle": "msle",
            "cosinesimilarity": "cosine_similarity",
            "hinge": "hinge",
            "squaredhinge": "squared_hinge",
            "huber": "huber",
            "kldivergence": "kl_divergence",
            "kld": "kld",
            "logcosh": "log_cosh",
            "logcosherror": "log_cosh",
            "poisson": "poisson",
        }.items()
    },
    **ELSEWHERE,
}
"""Likewise for names of classes."""
