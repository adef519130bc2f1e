"""Every program in examples/ runs from start to end, with tiny settings and without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))
SLOW = {  # compile a dozen programs
    *("lora_transformer.py", "low_rank_digits.py", "pruning.py", "quantization.py", "spectral_norm_gan.py"),
    *("gradient_accumulation.py", "per_layer_rates.py", "weird_optimizer.py", "gan.py", "silly_activation.py"),
    *("dynamic_tree.py", "recurrent_scan.py", "profile_and_debug.py", "per_example_gradients.py"),
    *("discriminator_to_classifier.py", "wolfe_line_search.py", "jacobians.py", "second_order_slots.py"),
}


def test_the_demo_is_there():
    assert "digits.py" in EXAMPLES


@pytest.mark.parametrize(
    "example", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in EXAMPLES]
)
def test_example(example, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / example)],
        cwd=tmp_path,
        env={**os.environ, "GRAFTAX_EXAMPLE_FAST": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip(), "an example prints what it did"
