# The commands of this project; those that run anything build .venv first where it is missing or out of date.

# The first Python of a version that is tested; `make install PYTHON=python3.12` takes another one.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)
# Where torch, and nothing else, comes from: on Linux without a GPU https://download.pytorch.org/whl/cpu saves gigabytes.
TORCH_INDEX ?=

# So that `python` in dvc.yaml is the one of .venv. macOS's make 3.81 asks this PATH only when a shell starts the command,
# which it leaves out where that shell is /bin/sh.
SHELL := bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET ?= 1

# A .venv that was built for another folder, as after a move or a copy: its scripts would run what lies there.
MOVED := $(shell [ ! -e .venv/.installed ] || [ -L .venv ] || grep -qsF "$(CURDIR)/.venv/bin/" .venv/bin/pip || echo moved)

.PHONY: help install repository moved check test slow gpu faults repro exps ui docs wheel clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z ]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

install: repository .venv/.installed ## build .venv from requirements.lock and torch.lock

repository:
	@reason=$$(git rev-parse --git-dir 2>&1) || { \
		echo "make: DVC needs a git repository here, and git says: $$reason" >&2; exit 1; }

moved:
	@echo "make: .venv was built for another folder; building it anew"

.venv/.installed: requirements.lock torch.lock pyproject.toml $(MOVED)
	@"$(or $(PYTHON),python3)" -c '$(SUPPORTED)' || { \
		echo "make: needs Python 3.11, 3.12 or 3.13; name one: make install PYTHON=<path>" >&2; exit 1; }
	@echo "installing into .venv with $(PYTHON): this takes minutes"
	@rm -rf .venv && "$(PYTHON)" -m venv .venv
	@python -m pip install --require-hashes --requirement requirements.lock
	@python -m pip install $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) --requirement torch.lock
	@python -m pip install --no-build-isolation --no-deps --editable .
	@touch $@

check: install ## lint, format and types
	@ruff check .
	@ruff format --check .
	@mypy

test: install ## the test suite, on up to four cores; tests of one file stay together
	@python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --max-worker-restart 0

slow gpu faults: install ## tests that take minutes, need a GPU, or fill disks and break files
	@python -m pytest -m $@

repro: install ## build every system that params.yaml chooses
	@nmt repro

exps: install ## experiments of DVC: what was varied in each, and the scores that it changed
	@nmt experiments

# MLflow's number of the experiment of this folder: a copied or moved project has another than 1 once it has run.
NUMBER := import os, sqlite3; print(sqlite3.connect("file:mlflow.db?mode=ro", uri=True).execute( \
	"SELECT max(experiment_id) FROM experiments WHERE artifact_location = ?", [os.getcwd() + "/mlruns"]).fetchone()[0] or 1)
ui: PORT ?= 5000
ui: install ## MLflow on http://127.0.0.1:5000; `make ui PORT=5001` takes another port
	@echo "In a few seconds, until Ctrl-C, the runs with their scores are on"
	@number=$$(python -c '$(NUMBER)' 2>/dev/null || echo 1); \
		echo "http://127.0.0.1:$(PORT)/#/experiments/$$number/runs?workflowType=machine_learning&viewStateShareKey=scores"
	@MLFLOW_LOGGING_LEVEL=ERROR MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false PYTHONWARNINGS=ignore \
		mlflow ui --host 127.0.0.1 --port $(PORT) --workers 1 --uvicorn-opts "--log-level warning" \
		--backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}"

docs: install .venv-docs/.installed ## the documents as a site: site/index.html
	@python -m docs.pages
	@.venv-docs/bin/python docs/mathml.py
	@.venv-docs/bin/zensical build --clean --strict

.venv-docs/.installed: docs/requirements.lock
	@rm -rf .venv-docs && python -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --require-hashes --only-binary :all: --requirement docs/requirements.lock
	@touch $@

wheel: install ## dist/*.whl, which translates and serves packaged systems anywhere
	@rm -rf build dist
	@python -m pip wheel --no-build-isolation --no-deps --wheel-dir dist . && rm -rf build && ls dist/*.whl

clean: ## remove the environments and the tools' caches; data, models and DVC's cache stay
	@rm -rf .venv .venv-docs site build dist .mypy_cache .pytest_cache .ruff_cache dvc_plots *.egg-info
	@find pipeline stages tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
