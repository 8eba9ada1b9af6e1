# Every target makes the environment it needs, once: a stamp is renewed only when pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
# BLAS threads fight over small blocks; the package shares rows among threads of its own
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help demo test test-slow lint bench bench-choosing bench-clustering docs reproduce clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

.venv/.has-%: pyproject.toml .venv/.made
	@echo "installing opgd[$*] into .venv ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: .venv/.has-demo  ## fit the digits, compare with the usual choices, save a picture and a report
	$(BIN)/python examples/demo.py

test: .venv/.has-test  ## the tests
	$(BIN)/python -m pytest -n auto

test-slow: .venv/.has-test  ## the tests and the long proofs
	$(BIN)/python -m pytest -n auto -m "slow or not slow"

lint: .venv/.has-lint  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/.has-bench  ## speed and memory, as ratios within one run
	$(BIN)/python -m benchmarks

bench-choosing: .venv/.has-bench  ## test errors of chosen models beside LDA and RDA (long)
	PYTHONWARNINGS=ignore $(BIN)/python -m benchmarks subclasses neighbours

bench-clustering: .venv/.has-bench  ## the paper's clustering table, and few labels per class (long)
	$(BIN)/python -m benchmarks clustering orthogonality labels

docs: .venv/.has-docs  ## the documentation, into docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs docs/_build/html

reproduce: .venv/.has-reproduce  ## the paper's experiments into results/ (about an hour; go on after an interrupt)
	$(BIN)/opgd reproduce all --out results
	$(BIN)/opgd reproduce vowel splits clustering --own --replications 5 --out results

clean:  ## remove the environment and everything made
	rm -rf .venv demo docs/_build docs/api build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
