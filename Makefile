# Everything runs in a virtual environment that the first target makes:
#   make demo     the main example        make lint     ruff
#   make test     the quick tests         make types    mypy
#   make test-all all tests               make format   put the code in shape
#   make bench    speed beside hand-written JAX, and beside the peers that are installed
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
PYTEST ?= -q

BIN := $(VENV)/bin
# The stamp carries the Python version: another PYTHON makes the environment anew.
STAMP := $(VENV)/installed-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

.PHONY: demo test test-all bench lint types format clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,examples,progress]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/digits.py

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST)

test-all: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m '' --hypothesis-profile=thorough $(PYTEST)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find . -name __pycache__ -prune -exec rm -rf {} +
