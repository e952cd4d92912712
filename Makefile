# Everything runs in .venv, which the first target that needs it makes from the lock.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
ifneq ($(wildcard ../shared/data),)
export JAXOPT_SVM_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-all proofs errata experiments report claims check format bench wheel clean

demo: $(READY)  ## a certified lambda sweep on embedded data: a table and results/sweep.png
	$(BIN)/python -m jaxopt_svm sweep --lams 1e-4:1e0:16 --holdout 0.25 --plot results/sweep.png

test: $(READY)  ## the default tests, both cores
	$(BIN)/python -m pytest -n 2

test-all: $(READY)  ## the full cross product
	$(BIN)/python -m pytest -n 2 -m "full or not full" --run-full

proofs: $(READY)  ## every theorem, as a table
	$(BIN)/python -m proofs_checks

errata: $(READY)  ## ERRATA.md from the rows and their numbers
	$(BIN)/python -m proofs_checks --errata > ERRATA.md

claims: $(READY)  ## the checked claims as a file, for the report: minutes
	$(BIN)/python -m proofs_checks --json > docs/results/proofs.json

report: $(READY)  ## docs/report.html from the csv files and the checked claims
	$(BIN)/python -m experiments.report

experiments: $(READY)  ## every experiment, quickly, into results/
	$(BIN)/python -m experiments --all --quick --jobs 2

check: $(READY)  ## linters and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m experiments bench_sdca

wheel: $(READY)
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf .venv dist build results *.egg-info .pytest_cache .ruff_cache

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@
