"""Metrics that other libraries have under other names, or that are not here: what to write instead."""

from __future__ import annotations

from graftax.core.known_names import ForeignNames

_OWN = (
    "a Metric of your own, with sums in add_variable(shape), update(y_true, y_pred) and result(); "
    "or a function of (y_true, y_pred), if it is a mean over samples"
)
_ABSENT = "graftax has no such metric"
_BY_CLASS = "it has another name here"
_BY_NAME = "it is a metric by name, without a class"
_SHORT = "the class has its long name; short ones are for compile"

NAMES: ForeignNames = {
    "f1": (_BY_CLASS, 'F1Score(average="macro"), or "micro", "weighted", None for each class; by name "f1_score"'),
    **dict.fromkeys(("prauc", "aucpr"), (_BY_CLASS, 'AUC(curve="PR")')),
    **dict.fromkeys(("rocauc", "aucroc"), (_BY_CLASS, 'AUC(), or "auc"')),
    "topk": (
        "which one is meant depends on the targets",
        "top_k_categorical_accuracy or sparse_top_k_categorical_accuracy",
    ),
    **dict.fromkeys(("iou", "meaniou"), ("it needs the number of classes", "MeanIoU(num_classes)")),
    "r2": (_BY_CLASS, "R2Score()"),
    **dict.fromkeys(("binaryiou", "onehotiou"), (_BY_CLASS, "IoU(num_classes, sparse_y_true=False)")),
    "onehotmeaniou": (_BY_CLASS, "MeanIoU(num_classes, sparse_y_true=False)"),
    "precisionatrecall": ("it needs the least recall", "PrecisionAtRecall(0.9)"),
    "recallatprecision": ("it needs the least precision", "RecallAtPrecision(0.9)"),
    "sensitivityatspecificity": ("it needs the least specificity", "SensitivityAtSpecificity(0.9)"),
    "specificityatsensitivity": ("it needs the least sensitivity", "SpecificityAtSensitivity(0.9)"),
    "ppl": (_BY_CLASS, "Perplexity(from_logits=True)"),
    "loss": ("fit shows the loss in any case", "leave it out"),
    "valloss": ("fit shows it as soon as there is validation_data", "leave it out"),
} | dict.fromkeys(
    (
        "cohenkappa",
        "confusionmatrix",
        "matthewscorrelation",
        "meanrelativeerror",
    ),
    (_ABSENT, _OWN),
)

CLASSES: ForeignNames = {
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
            "mape": "mape",
            "msle": "msle",
            "huber": "huber",
            "kld": "kld",
            "logcosh": "log_cosh",
        }.items()
    },
    **NAMES,
}
"""Likewise for names of classes."""
