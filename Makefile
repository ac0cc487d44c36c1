# Needs Python 3.11 or later and make; everything else is installed into .venv by the first target that is run.
# Linux and macOS. On Windows use these targets inside WSL, or `pip install .` and `withinpx demo` without make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The version of torch that is tested. Which build pip finds depends on the machine: on Linux the default wheel brings
# the CUDA libraries (several GB), on macOS and Windows it is a CPU build. Both kinds work. On Linux, PyTorch's CPU
# index has a smaller build without CUDA:
#   make demo TORCH_OPTIONS='--index-url ADDRESS_OF_PYTORCHS_CPU_INDEX'
# The package itself accepts torch 2.10 or later: make demo TORCH='torch>=2.10'. To change torch afterwards, run
# `make clean` first.
TORCH ?= torch==2.13.0
TORCH_OPTIONS ?=

.PHONY: demo test check docs mutants torture bench format clean

demo: $(READY)  ## track a generated clip of three objects without labels, and compare with its true positions
	$(BIN)/withinpx demo

test: $(READY)  ## all tests; ends with what was skipped and why (browser tests need Chromium)
	$(BIN)/pytest -rs --numprocesses auto --dist loadfile

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# mkdocs's --quiet would hide dead links from --strict.
docs: $(READY)  ## the documentation site into site/; the build itself uses no network, and a dead link stops it
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

mutants: $(READY)  ## weakened certificates, each of which a test must notice (at most 20 minutes on 2 cores); results/mutants
	$(BIN)/python -m tests.mutants --workers 2

torture: $(READY)  ## all fault tests at full length (at most 90 minutes on 2 cores); counts into results/torture.json
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pytest tests/faults --torture

bench: $(READY)  ## ratios, each measured in one run
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/detection.py
	$(BIN)/python benchmarks/many_seeds.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# torch comes first, so that the second line keeps the build that was chosen.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH_OPTIONS) '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@
