# MemArbiter's commands. `make` lists them; each sets up what it needs.

ENV ?= household
MODEL ?=
TASKS ?=
JOBS ?=
PYTHON ?= python3

BIN := .venv/bin
SET := $(ENV)-$(or $(MODEL),reader)$(if $(TASKS),-$(TASKS)tasks)
RUNS := runs/$(SET)
OUT ?= results/$(SET)
STAMP := .venv/.set-up

.DEFAULT_GOAL := help
.PHONY: help setup reproduce test lint clean

help:  ## List the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12
	@echo
	@echo "make reproduce takes ENV=household|alfworld, MODEL=<configs/model> (default: reader and reader_slips),"
	@echo "TASKS=<number of tasks>, JOBS=<worker processes>, OUT=<results folder>."

setup: $(STAMP)  ## Make .venv, install everything, fetch and verify the token vocabulary

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11; install Python 3.11 or newer, or say make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[suite,dev]'
	$(BIN)/python -m memarbiter.vocabulary
	@touch $@

reproduce: $(STAMP)  ## Play every condition, and write Tables 2-5 and Figure 3 beside the paper's numbers
	$(BIN)/python -m experiments.reproduce env=$(ENV) out=$(RUNS) \
	  $(if $(MODEL),'models=[$(MODEL)]') $(if $(TASKS),env.tasks=$(TASKS)) $(if $(JOBS),jobs=$(JOBS))
	$(BIN)/python -m analysis.report $(RUNS) --out $(OUT)

test: $(STAMP)  ## Run the tests
	$(BIN)/python -m pytest

lint: $(STAMP)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:  ## Remove the environment, runs and caches; results stay
	rm -rf .venv runs data build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
