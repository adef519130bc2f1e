"""The floor plan of the package: who may import whom, and every exception with its reason."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "graftax"

# A module imports its own floor or a lower one. A folder stands for everything in it.
FLOORS = (
    ("words", "core"),
    ("arrays", "backend ops"),
    ("variables", "variables"),
    ("expressions", "reparam transforms objectives"),
    ("wings", "layers optimizers losses metrics checkpoint distribution"),
    ("programs", "training generation export"),
    (
        "doors",
        "cli activations adapters callbacks constraints data errors initializers random regularizers summary __init__ "
        "__main__",
    ),
)

# Packages that are imported as users import them, since their ``__init__`` is made for that.
DOORS = (
    "graftax.backend.testing",
    "graftax.ops",
    "graftax.optimizers.schedules",
    "graftax.training.callbacks",
    "graftax.training.data",
    "graftax.training.summary",
)

# Star imports: (module, what it imports from) and why it may.
STARS = {("graftax.optimizers.__init__", "graftax.optimizers.named"): "one line for an optimizer, in one place"}

# Folders of one floor that never import each other.
WINGS = (
    "layers optimizers losses metrics checkpoint distribution",
    "backend.jax backend.numpy",
)

# Imports that wait until a function runs: (module, what it imports) and why it may.
LAZY = {
    ("graftax.__init__", "import_module"): "public names are imported when first used",
    ("graftax.core.later", "import_module"): "what explains is imported when there is something to explain: LATER",
    ("graftax.core.missing_names", "import_module"): "looked through when a name is missing",
    ("graftax.ops.functions", "import_module"): "the file of an op is imported when the op is first used",
    ("graftax.checkpoint.__init__", "import_module"): "the command line looks at checkpoints without an array library",
    ("graftax.export.__init__", "import_module"): "the command line looks at artefacts without an array library",
    ("graftax.export.to_onnx.runtime", "import_module"): "onnxruntime is optional: the extra graftax[onnx]",
    ("graftax.training.__init__", "import_module"): "`session` needs callbacks and checkpoints; most look for `Model`",
    ("graftax.backend.__init__", "import_module"): "what authors of backends need reaches into everything",
    ("graftax.backend.registry", "import_module"): "a backend is imported when first used",
    ("graftax.backend.jax.backend", "graftax.backend.jax.transforms.JaxTransforms"): "arrays alone need no tracing",
    ("graftax.backend.jax.backend", "graftax.backend.jax.exporting.JaxExporting"): "few programs export",
    ("graftax.backend.host", "import_module"): "ml_dtypes is optional: JAX brings it, NumPy does without",
    (
        "graftax.checkpoint.foreign.readers.optional_library",
        "import_module",
    ): "h5py and orbax-checkpoint are optional: the extras graftax[h5] and graftax[orbax]",
    ("graftax.training.optional_libraries", "import_module"): "what extras bring is imported when it is used",
    ("graftax.checkpoint.remote_storage", "import_module"): "fsspec is optional: the extra graftax[fsspec]",
    ("graftax.cli.export_show", "import_module"): "zipfile, which takes long and is needed for an artefact in one file",
    ("graftax.cli.main", "import_module"): "only the subcommand that was asked for is imported",
    (
        "graftax.training.whole.public_classes",
        "import_module",
    ): "public classes by name, for files of whole models",
    (
        "graftax.training.export_mixin",
        "graftax.export.first_call.signature_of",
    ): "the loader imports an array library, and most models are never exported",
    (
        "graftax.training.export_mixin",
        "graftax.export.saving.save",
    ): "the loader imports an array library, and most models are never exported",
    ("graftax.cli.target", "import_module"): "the user's program, named on the command line",
}

# Modules that `import_later` imports when something of them is first used, and when that is. They are imported for type
# checkers, too, so that the floors and the circles count them like any other.
LATER = {
    "graftax.core.attributes": "an attribute that there is not",
    "graftax.core.foreign_errors": "an error of another library",
    "graftax.core.misbound": "a call that does not fit",
    "graftax.core.misspelt_attributes": "a new attribute that the program sets on an object",
    "graftax.core.missing_names": "a name that a namespace has not",
    "graftax.core.unknown_keywords": "a keyword that a constructor does not take",
    "graftax.layers.call_errors": "an error in the call of a layer",
    "graftax.layers.column_names": "the columns of a table, where one is given",
    "graftax.layers.foreign_tables": "a table of another library, where something is given that is no array",
    "graftax.layers.symbolic_call": "a graph of layers, which most models are not",
    "graftax.ops.explain": "an error in an op",
    "graftax.ops.foreign_names": "an op, or an argument of one, that there is not",
    "graftax.variables.graph.tree_repr": "what print shows of a Module",
}

# Imports for types alone that close a circle: (module, what it imports) and why it stands. Only to be made shorter.
CIRCLES = {
    ("graftax.variables.variable", "graftax.variables.graph.module"): "the owner is a Module, as users type it",
    (
        "graftax.training.hooks.callback",
        "graftax.training.model",
    ): "a callback is shown the whole model, as users type it",
}

# How many files of ours an import of the module runs. A file has one idea and less than 400 lines, and none hides an
# import in a function, so this counts ideas, but for explanations and ops, which wait until they are needed (`LAZY`,
# `LATER`). What a value passes through is counted in `test_stops.py`.
BELOW = {"graftax.layers.dense": 150, "graftax.optimizers.update_rules.adam": 160}

# What these import when they are imported must not reach an array library: they are there before a backend is chosen.
LIGHT = ("__init__", "core.*", "cli.main", "cli.ckpt_ls", "cli.ckpt_show", "cli.ckpt_verify", "cli.export_show")
HEAVY = {"numpy", "jax", "jaxlib", "scipy", "ml_dtypes"}

# Everything else is optional and so imported lazily.
DEPENDENCIES = {"numpy", "jax", "jaxlib", "msgpack", "xxhash"}
JAX_HOME = "graftax.backend.jax."
STANDALONE = {"graftax.export.run": "it is copied into artefacts, and there graftax is not"}
PRIVATE_JAX = ("jax._src", "jax.extend.core", "jax.interpreters", "jaxlib")
PRIVATE_JAX_HOME = "graftax.backend.jax.tracing"

MAX_LINES = 400
