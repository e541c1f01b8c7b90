# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt
DEMO_EXTRAS := torch,plot,cli
TEST_EXTRAS := torch,plot,data,frames,cli,dask,chem,flow,test,oracle
# The version that is tested; for another, TORCH=torch==2.12.0.
TORCH ?= torch==2.13.0
PYTHON_NAME = $(notdir $(PYTHON))
# The newest Python that there is, on the path or among those of pyenv.
NEWEST_PYTHON ?= $(shell for minor in 16 15 14 13 12 11; do \
  for python in python3.$$minor "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.$$minor.*/bin/python; do \
    "$$python" -c "" 2>/dev/null && echo "$$python" && exit; done; done)
PYTEST_ARGS ?=
# Processes of the tests. A file's tests stay together, for what they share.
TEST_JOBS ?= 2
PARALLEL := -n $(TEST_JOBS) --dist loadfile
WITHOUT_DOCTESTS := -o addopts="-ra --strict-config --strict-markers --import-mode=importlib"
QUICK := tests/skpce/test_persistence.py tests/skpce/test_model_file.py tests/skpce/test_frames.py \
  tests/skpce/test_regressor.py tests/skpce/test_surrogate.py tests/skpce/ensembles
comma := ,
RUNS ?= runs
DEMO_OUT ?= $(RUNS)/grid-default

# Threads lose time on arrays this small; more cores are used as processes.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help setup setup-demo demo test test-rest test-all test-minimum test-newest test-newest-quick test-core test-neighbours fuzz kills compare golden lint docs pictures lean lean-core lean-core-mutants clean

help:
	@echo "make demo   install, train 150 GFlowNets on the grid, write a report"
	@echo "make test   install what the tests need beside it, run the tests: minutes"
	@echo "make test-all   these, the slow ones, and the examples of docstrings and pages"
	@echo "make kills  kill training, runs and pages a hundred times, and compare"
	@echo "make fuzz   install, make 10,000 random fits and as many refused calls"
	@echo "make test-minimum  all tests with the oldest versions that are allowed"
	@echo "make test-newest   the same with the newest versions on the newest Python there is"
	@echo "make test-newest-quick  of these a part in two minutes, without torch"
	@echo "make test-core     skpce without torch; PYTHON=python3.13 for another Python"
	@echo "make test-neighbours   policies of torchgfn and gfnx, environments of gymnasium"
	@echo "make compare BASE=COMMIT  time a dozen calls against those of another commit"
	@echo "make golden BASE=COMMIT  list the numbers that differ from another commit in any digit"
	@echo "make lint   check style, formatting and the types"
	@echo "make docs   build the documentation"
	@echo "make pictures  run what is not finished in $(RUNS), and draw the pictures of docs/images again"
	@echo "make lean-core  check the proofs in lean/Core by Lean's core, from npm"
	@echo "make lean   check the Lean proofs against Mathlib, where lake is installed"
	@echo "make clean  remove the environment and the runs"

setup-demo: $(VENV)/.demo
setup: $(VENV)/.installed

$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $(TORCH)
	$(INSTALL) --editable ".[$(DEMO_EXTRAS)]"
	touch $@

$(VENV)/.installed: $(VENV)/.demo
	$(INSTALL) --editable ".[$(TEST_EXTRAS)]"
	touch $@

demo: setup-demo
	$(BIN)/gflownet-envs run grid --jobs 2 --out $(DEMO_OUT)

test: setup
	$(BIN)/python -m pytest $(PARALLEL) $(WITHOUT_DOCTESTS) -m "not slow" tests $(PYTEST_ARGS)

# What make test leaves out: slow tests, and the examples of docstrings and pages.
test-rest: setup
	$(BIN)/python -m pytest $(PARALLEL) $(WITHOUT_DOCTESTS) -m slow tests $(PYTEST_ARGS)
	$(BIN)/python -m pytest $(PARALLEL) skpce gflownet_envs docs $(PYTEST_ARGS)

test-all: test test-rest

# Each set has an environment of its own. The other libraries, oracles, are compared once,
# with the locked set.
# The output of the examples is that of the locked versions: the others run no doctests.
test-minimum: .venv-minimum/.installed
	.venv-minimum/bin/python -m pytest $(PARALLEL) $(WITHOUT_DOCTESTS) tests $(PYTEST_ARGS)

test-newest: .venv-newest/.installed
	.venv-newest/bin/python -m pytest $(PARALLEL) $(WITHOUT_DOCTESTS) tests $(PYTEST_ARGS)

# What a new version breaks first: fits, frames, pickles and model files, without torch.
test-newest-quick: .venv-newest-core/.installed
	.venv-newest-core/bin/python -m pytest $(WITHOUT_DOCTESTS) $(QUICK) $(PYTEST_ARGS)

test-core: .venv-core-$(PYTHON_NAME)/.installed
	.venv-core-$(PYTHON_NAME)/bin/python -m pytest tests/skpce tests/test_common.py $(PYTEST_ARGS)

.venv-minimum/.installed: pyproject.toml constraints-minimum.txt
	$(PYTHON) -m venv .venv-minimum
	.venv-minimum/bin/python -m pip install --quiet --constraint constraints-minimum.txt $(TORCH)
	.venv-minimum/bin/python -m pip install --quiet --constraint constraints-minimum.txt \
	  --editable ".[$(subst $(comma)oracle,,$(TEST_EXTRAS))]"
	touch $@

.venv-newest/.installed: pyproject.toml
	$(NEWEST_PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet $(TORCH)
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager \
	  --editable ".[$(subst $(comma)oracle,,$(TEST_EXTRAS))]" $(TORCH)
	touch $@

.venv-newest-core/.installed: pyproject.toml
	$(NEWEST_PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager \
	  --editable ".[plot,frames,test]"
	$(@D)/bin/python -c "import sys, numpy; print('Newest: Python', sys.version.split()[0], 'numpy', numpy.__version__)"
	touch $@

.venv-core-%/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --constraint constraints.txt \
	  --editable ".[plot,frames,test]"
	touch $@

# torchgfn asks for numpy before 2, so that its tests have an environment of their own.
test-neighbours: .venv-neighbours/.installed
	.venv-neighbours/bin/python -m pytest $(WITHOUT_DOCTESTS) tests/gflownet_envs/test_with_*.py $(PYTEST_ARGS)

.venv-neighbours/.installed: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet $(TORCH)
	$(@D)/bin/python -m pip install --quiet --editable ".[torch,neighbours,test]" $(TORCH)
	touch $@

fuzz: setup
	$(BIN)/python -m tests.fuzz --fits 10000 --refused 10000 --jobs 2

compare: setup
	$(BIN)/python -m benchmarks.against_commit $(BASE) $(HEAD)

golden: setup
	$(BIN)/python -m tests.golden.record against $(BASE)

kills: setup
	$(BIN)/python -m benchmarks.gflownet.kills --kills 100

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy --strict skpce gflownet_envs

docs: setup
	$(INSTALL) --editable ".[docs]"
	$(BIN)/python -m sphinx -n -W -b html docs docs/_build/html

pictures: setup
	$(BIN)/python -m benchmarks.task_pictures --runs $(RUNS)

lean:
	@command -v lake >/dev/null || { \
	  echo "lake is not installed: the proofs in lean/ are NOT checked." >&2; exit 1; }
	cd lean && lake exe cache get && lake build --wfail

# Lean's core and a node that runs it are installed in .venv-lean, by the hashes of the lock
# file. ONE=17 sees one false variant refused, the 17th in rotation; without it all.
lean-core:
	@command -v npm >/dev/null || { \
	  echo "npm is not installed: the proofs in lean/Core are NOT checked." >&2; exit 1; }
	$(PYTHON) lean/Core/check.py

lean-core-mutants:
	$(PYTHON) lean/Core/check.py $(if $(ONE),--one $(ONE),--mutants)

clean:
	rm -rf .venv .venv-* runs docs/_build docs/auto_examples docs/api/generated docs/api/backreferences docs/sg_execution_times.rst
