# On a machine with Python 3.11+ and make alone: `make demo`, `make test`, `make check`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check torture bench format clean

demo: $(READY)  ## track a clip of three things without labels, and say how far off each position can be
	$(BIN)/withinpx demo

test: $(READY)  ## all tests
	$(BIN)/pytest

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

torture: $(READY)  ## break it on purpose, in full (at most 90 minutes on 2 cores), and count
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pytest tests/faults --torture

bench: $(READY)  ## ratios measured in one run
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/detection.py
	$(BIN)/python benchmarks/many_seeds.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# torch first, and its CPU build: a looser requirement would pull gigabytes of CUDA packages
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@
