# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNS ?= runs
DEMO_OUT ?= $(RUNS)/grid-default

# Threads lose time on arrays this small; more cores are used as processes.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help setup demo test kills lint docs pictures lean clean

help:
	@echo "make demo   install, train 150 GFlowNets on the grid, write a report"
	@echo "make test   install, run the whole test suite"
	@echo "make kills  kill training, runs and pages a hundred times, and compare"
	@echo "make lint   check style, formatting and the types"
	@echo "make docs   build the documentation"
	@echo "make pictures  run what is not finished in $(RUNS), and draw the pictures of docs/images again"
	@echo "make lean   check the Lean proofs, where lake is installed"
	@echo "make clean  remove the environment and the runs"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[torch,plot,data,cli,dask,chem,flow,test]"
	touch $@

demo: setup
	$(BIN)/gflownet-envs run grid --jobs 2 --out $(DEMO_OUT)

test: setup
	$(BIN)/python -m pytest

kills: setup
	$(BIN)/python -m benchmarks.gflownet.kills --kills 100

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict skpce gflownet_envs

docs: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html

pictures: setup
	$(BIN)/python -m benchmarks.task_pictures --runs $(RUNS)

lean:
	@command -v lake >/dev/null || { \
	  echo "lake is not installed: the proofs in lean/ are NOT checked." >&2; exit 1; }
	cd lean && lake exe cache get && lake build --wfail

clean:
	rm -rf $(VENV) runs docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst
