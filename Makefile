# The commands of this project; those that run anything build .venv first where it is missing or out of date.

# The first Python of a version that is tested; `make install PYTHON=python3.14` takes another one.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$python && break; done)

INSTALLED := .venv/.installed

# So that `python` in dvc.yaml is the one of .venv. macOS's make 3.81 asks this PATH only when a shell starts the command,
# which it leaves out where that shell is /bin/sh.
SHELL := bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET ?= 1

.PHONY: help install check test slow gpu faults repro repro-portable exps ui bench docs schema wheel clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

install: $(INSTALLED) ## build .venv from requirements.lock and torch.lock

# Hashes are checked of all but torch, whose builds have one each. What has no wheel is built by the setuptools of the lock:
# pip's own build environments would fetch a newer one, unchecked.
PIP_LOCKED := python -m pip install --require-hashes --only-binary :all: --no-binary antlr4-python3-runtime \
	--no-build-isolation --use-pep517

$(INSTALLED): requirements.lock torch.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11, 3.12 or 3.13 found; name one: make install PYTHON=<path>" >&2; exit 1; }
	@mkdir .venv.lock 2> /dev/null || { \
		echo "make: another make installs into .venv: wait for it; if there is none, run rmdir .venv.lock" >&2; exit 1; }; \
	trap 'rmdir .venv.lock' EXIT; trap 'exit 130' INT TERM; set -e; \
	echo "installing into .venv with $(PYTHON): this takes minutes"; \
	rm -rf .venv; \
	$(PYTHON) -m venv .venv; \
	awk '/^setuptools==/ {found = 1} found {print; if (!/\\$$/) exit}' requirements.lock > .venv/setuptools.lock; \
	$(PIP_LOCKED) --requirement .venv/setuptools.lock; \
	$(PIP_LOCKED) --requirement requirements.lock; \
	python -m pip install --requirement torch.lock; \
	python -m pip install --no-build-isolation --no-deps --editable .; \
	touch $@

check: install ## lint, format and types
	@ruff check .
	@ruff format --check .
	@mypy

test: install ## the test suite, on up to four cores; tests of one file stay together
	@python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --max-worker-restart 0

slow: install ## the tests that take minutes
	@python -m pytest -m slow

gpu: install ## the tests that need a CUDA device
	@python -m pytest -m gpu

faults: install ## kills, full disks, hostile servers and broken files, and a table of what held
	@python -m pytest -m faults --all-faults

repro: install ## build every system that params.yaml chooses
	@nmt repro

repro-portable: install ## build for the same bytes on every x86-64 with AVX2, in work/portable/; compare with portable.json
	@nmt repro-portable

exps: install ## experiments of DVC, with the columns in which they differ
	@dvc exp show --only-changed --hide-workspace --drop 'Created|State|Executor|params.yaml$$|[a-z]+$$|[a-z]+/[^:]*$$'

ui: PORT ?= 5000
ui: install ## MLflow on http://127.0.0.1:5000; `make ui PORT=5001` takes another port
	@echo "http://127.0.0.1:$(PORT) in a few seconds; Ctrl-C ends it"
	@set -o pipefail; PYTHONWARNINGS=ignore MLFLOW_LOGGING_LEVEL=ERROR MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false \
		mlflow ui --host 127.0.0.1 --port $(PORT) --workers 1 --uvicorn-opts "--log-level warning" \
		--backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}" 2>&1 | \
		{ grep -v -e "^Registry store URI" -e "^\[MLflow\] Security" || true; }  # the exit status is that of the server

bench: install ## speed and memory, one script a question
	@set -e; for script in $(wildcard benchmarks/*.py); do echo "$$script"; python $$script; done

docs: install .venv-docs/.installed ## the documents as a site: site/index.html
	@python -m docs.pages
	@.venv-docs/bin/python docs/mathml.py
	@.venv-docs/bin/zensical build --clean --strict

schema: install ## JSON schemas of params.yaml and corpora/*.yaml, for editors
	@python -m docs.schema

wheel: install ## dist/*.whl, which translates and serves packaged systems anywhere
	@rm -rf build dist
	@python -m pip wheel --no-build-isolation --no-deps --wheel-dir dist .
	@rm -rf build
	@ls dist/*.whl

.venv-docs/.installed: docs/requirements.lock
	@rm -rf .venv-docs
	@python -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --require-hashes --only-binary :all: --requirement docs/requirements.lock
	@touch $@

clean: ## remove the environments and the tools' caches; data, models and DVC's cache stay
	@rm -rf .venv .venv-docs site build dist .mypy_cache .pytest_cache .ruff_cache dvc_plots *.egg-info
	@find pipeline stages tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
