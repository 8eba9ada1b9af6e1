# Every target makes the environment it needs, once: a stamp is renewed only when pyproject.toml changes.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
else
PYTHON ?= python3
SCRIPTS := bin
endif
BIN := .venv/$(SCRIPTS)
OLDEST := .venv-oldest/$(SCRIPTS)/python
FREE_THREADED := .venv-free-threaded/$(SCRIPTS)/python
# BLAS threads fight over small blocks; the package shares rows among threads of its own
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# compiled modules are kept between runs, also where the environment says otherwise
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-slow test-oldest test-free-threaded lint hooks coverage mutation oracle fingerprint bench docs reproduce test-paper dist check-dist clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

# the demo needs two extras; everything else the whole package and one of the dependency groups
.venv/.has-demo: pyproject.toml .venv/.made
	@echo "installing opgd[plot,tables,report] into .venv ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plot,tables,report]" "rich>=13"
	@touch $@

.venv/.has-%: pyproject.toml .venv/.made
	@echo "installing opgd[all] and the group $* into .venv ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group $*
	@touch $@

# the package and the paper's companion, which is no extra of it
.venv/.has-paper: pyproject.toml paper/pyproject.toml .venv/.made
	@echo "installing opgd and opgd-paper into .venv ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --editable ./paper
	@touch $@

# the lower bounds of pyproject.toml as pins, in an environment of their own; scikit-learn 1.6 is too old for pytest 9
.venv-oldest/.made: pyproject.toml tests/core_requirements.txt tools/oldest.py
	$(PYTHON) -m venv .venv-oldest
	$(OLDEST) tools/oldest.py > .venv-oldest/pins.txt
	$(OLDEST) -m pip install --quiet --disable-pip-version-check --only-binary numpy,scipy,scikit-learn,pandas \
		-c .venv-oldest/pins.txt --editable ".[tables,model]" -r tests/core_requirements.txt polars==1.9 "pytest<9"
	@touch $@

# wheels only: what has none for a free-threaded Python is not worth compiling for a test
.venv-free-threaded/.made: pyproject.toml tests/core_requirements.txt
	$(PYTHON) -m venv .venv-free-threaded
	$(FREE_THREADED) -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(FREE_THREADED) -m pip install --quiet --only-binary :all: --editable ".[tables,model]" -r tests/core_requirements.txt
	@touch $@

demo: .venv/.has-demo  ## the digits: OPGD beside the usual choices, in a table, a picture and a report
	$(BIN)/python examples/demo.py

test: .venv/.has-test  ## the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: .venv/.has-test  ## the tests and the long proofs
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow or not slow"

test-oldest: .venv-oldest/.made  ## core and estimators with the oldest supported numpy, scipy and scikit-learn
	$(OLDEST) -m pip list | grep -iE "^(numpy|scipy|scikit-learn) "
	$(OLDEST) -m pytest -n auto --dist worksteal -p no:cacheprovider @tests/core.txt

test-free-threaded: .venv-free-threaded/.made  ## core and estimators, for a PYTHON without a global lock
	$(FREE_THREADED) -m pytest -n auto --dist worksteal -p no:cacheprovider @tests/core.txt

lint: .venv/.has-lint  ## style, types and imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src

hooks: .venv/.has-lint  ## the hooks of pre-commit, for all files
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pre-commit run --all-files --show-diff-on-failure

coverage: .venv/.has-dev  ## branches that the tests take (long)
	$(BIN)/python -m pytest --cov --cov-report=term -p no:cacheprovider

mutation: .venv/.has-test  ## small changes of the core's formulas that its tests must notice (long)
	$(BIN)/python tools/mutation.py

oracle: .venv/.has-test  ## what 0.2.0 computes, in an environment of its own (.venv-oracle)
	tools/oracle

fingerprint: oracle  ## ninety fits of this version beside those of 0.2.0: equal to 1e-12
	$(BIN)/python tools/fingerprint.py values .venv-oracle/new.npz
	$(BIN)/python tools/fingerprint.py compare .venv-oracle/values.npz .venv-oracle/new.npz

bench: .venv/.has-bench  ## an evaluation beside its matrix products; others with SECTIONS="speed growth"
	$(BIN)/python -m benchmarks $(SECTIONS)

docs: .venv/.has-docs .venv/.has-paper  ## the documentation with the results of its code, into docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs docs/_build/html

reproduce: .venv/.has-paper  ## the paper's experiments into build/results (an hour; go on after an interrupt), or EXPERIMENTS=vowel
	$(BIN)/python -m opgd_paper $(EXPERIMENTS) --out build/results

test-paper: .venv/.has-test .venv/.has-paper  ## the tests of the paper's companion package
	$(BIN)/python -m pytest -n auto --dist worksteal paper/tests

dist: .venv/.has-dist  ## source distribution and wheel, into dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

check-dist:  ## the wheel with each extra, and the tests of the source distribution, in new environments (long)
	$(PYTHON) tools/check_dist.py dist

clean:  ## remove the environment and everything made
	rm -rf .venv .venv-oldest .venv-free-threaded .venv-oracle demo docs/_build docs/api docs/gallery build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
