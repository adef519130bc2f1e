# Everything runs in a virtual environment that the first target makes:
#   make demo             the main example          make lint     ruff
#   make test             the quick tests           make types    mypy and pyright
#   make test-broad       the same for more cases   make format   put the code in shape
#   make test-all         all of these, and the slow tests
#   make test-references  the tests that compare with torch, Keras and optax, in an environment that has these
#   make test-devices     the tests of programs over several devices, on eight that the CPU is divided into
#   make bench            speed beside hand-written JAX, and beside the peers that are installed
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
PYTEST ?= -q

# What one lane compiles of Python, the next one finds.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# Its program and the node that runs it come as wheels; it must not ask whether there is a newer one.
PYRIGHT := PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python --warnings
# The stamp carries the Python version: another PYTHON makes the environment anew.
INSTALLED := installed-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
STAMP := $(VENV)/$(INSTALLED)
# Its own environment: torch is large, and the quick tests must pass without it.
REFERENCES := $(VENV)-references

.PHONY: demo test test-broad test-all test-references test-devices bench lint types format clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,examples]'
	touch $@

$(REFERENCES)/$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv --clear $(REFERENCES)
	$(REFERENCES)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,examples,references]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/digits.py

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST)

# The rows of tables that the quick tests leave out, and what takes longer.
test-broad: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m 'broad and not slow' $(PYTEST)

# Of the quick and broad tests, XLA compiles plainly (tests/conftest.py); here, as for users.
test-all: $(STAMP)
	XLA_FLAGS="$$XLA_FLAGS" $(BIN)/python -m pytest -n $(JOBS) -m '' --hypothesis-profile=thorough $(PYTEST)

test-references: $(REFERENCES)/$(INSTALLED)
	KERAS_BACKEND=jax $(REFERENCES)/bin/python -m pytest -n $(JOBS) -m '' --references $(PYTEST)

test-devices: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m '' --devices $(PYTEST)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy
	$(PYRIGHT) --project pyproject.toml
	$(PYRIGHT) --project tests/typing

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(REFERENCES) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find . -name __pycache__ -prune -exec rm -rf {} +
