# Two commands do everything on a fresh machine: `make demo` and `make test`. The others are for developers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo release-check test test-vendors quick check voice fix docs fixtures fixtures-frameworks fixtures-servers fixtures-traces bench cards clean fuzz soak mutants

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# A stamp file stands for each installed set, so that a second run costs nothing.
$(VENV)/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the test tools (once)"
	@$(PIP) install --editable '.[dev]'
	@touch $@

$(VENV)/.vendors: $(VENV)/.dev
	@echo "installing the vendors' packages, some GB (once)"
	@$(PIP) install --editable '.[vendors]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing the tools to measure against (once)"
	@$(PIP) install --editable '.[bench]'
	@touch $@

# Each tool and each server in an environment of its own: ragas 0.1 and ragas do not go together, nor does evals with
# newer packages, nor LangServe with the server of LangGraph. evals asks for many packages that are not used here, so
# that what it needs is named. promptfoo comes from npm.
TOOLS := ragas_old ragas deepeval inspect_ai openai_evals langsmith squad_rows langfuse phoenix rows promptfoo
SERVERS := langserve gradio gradio5 langgraph litellm hayhooks
NEEDS_ragas_old := 'ragas<0.2' 'datasets<3' 'pyarrow<18'
NEEDS_ragas := ragas langchain-community==0.4.1
NEEDS_deepeval := deepeval
NEEDS_inspect_ai := inspect_ai backports.zstd
NEEDS_openai_evals := backoff blobfile lz4 numpy openai pyyaml requests 'setuptools<80' tiktoken tqdm zstandard
NEEDS_langsmith := langsmith pandas
NEEDS_squad_rows := datasets
NEEDS_langfuse := langfuse
NEEDS_phoenix := arize-phoenix-client pandas
NEEDS_rows := pandas pyarrow openpyxl
NEEDS_langserve := 'langserve[server]' uvicorn
NEEDS_gradio := gradio
NEEDS_gradio5 := 'gradio<6'
NEEDS_langgraph := 'langgraph-cli[inmem]'
NEEDS_litellm := 'litellm[proxy]'
NEEDS_hayhooks := hayhooks

$(VENV)/fixtures/%/.made:
	@echo "installing $* in an environment of its own (once)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@test -z "$(NEEDS_$*)" || PIP_CONSTRAINT= $(@D)/bin/python -m pip --quiet --disable-pip-version-check install $(NEEDS_$*)
	@test $* != openai_evals || PIP_CONSTRAINT= $(@D)/bin/python -m pip --quiet --disable-pip-version-check install --no-deps evals
	@test $* != promptfoo || npm install --silent --prefix $(@D) promptfoo
	@touch $@

setup: $(VENV)/.dev ## create .venv and install everything for development
	@$(BIN)/python -c 'import rag_evaluation_framework as r; print("ready:", r.__version__)'

demo: $(VENV)/.core ## install the package and show the offline demo, in 25 lines
	@$(BIN)/rag-eval demo --force

release-check: $(VENV)/.dev ## build wheel and sdist, and try the wheel in an empty environment: README, demo, types
	@$(BIN)/python scripts/check_release.py --pyright

test: $(VENV)/.dev ## install what the tests need and run them all
	@# One more than there are cores: some tests wait for a process, a server or a browser.
	@$(BIN)/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal

test-vendors: $(VENV)/.vendors $(patsubst %,$(VENV)/fixtures/%/.made,ragas deepeval inspect_ai promptfoo $(SERVERS)) ## the tests that need vendors' heavy packages, which are installed first
	@$(BIN)/python -m pytest -n auto --dist worksteal -m vendors

# What an edit most often breaks: the rules of the house, what users see, and the rooms without clock or network.
QUICK := tests/acceptance tests/test_architecture.py tests/test_front_door.py tests/test_forbidden_calls.py \
  tests/test_errors.py tests/test_extensions.py \
  $(wildcard tests/files tests/text tests/records tests/statistics tests/metrics)

quick: $(VENV)/.dev ## after an edit: lint, architecture, acceptance and the ground rooms' tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m pytest -n auto --dist worksteal $(QUICK)

check: $(VENV)/.dev ## lint, formatting, types, the documentation site, wording, and the architecture test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/zensical build --strict
	@$(MAKE) -s voice
	@$(BIN)/python -m pytest tests/test_architecture.py

voice: $(VENV)/.dev ## count the words that no message, docstring, page or name may have, and check commit subjects
	@$(BIN)/python scripts/check_voice.py --commits 20

fix: $(VENV)/.dev ## let ruff repair and format what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.dev ## print the pages that come from the code, and build the site into site/
	@$(BIN)/python docs/print_pages.py
	@$(BIN)/zensical build --strict

FIXTURES := tests/fixtures/make_fixtures.py
fixtures: fixtures-traces fixtures-frameworks fixtures-servers $(TOOLS:%=$(VENV)/fixtures/%/.made) ## make the files of other tools again, with the tools themselves (some GB, and node for promptfoo)
	@for name in $(TOOLS); do $(VENV)/fixtures/$$name/bin/python $(FIXTURES) $$name || exit 1; done

fixtures-servers: $(VENV)/.dev $(SERVERS:%=$(VENV)/fixtures/%/.made) ## record the replies of the tests' servers again
	@$(BIN)/python tests/servers/recorded_servers.py

fixtures-traces: ## make the traces of the tests and of the example again, with the real libraries
	@test -x $(VENV)/fixtures/traces/bin/python || $(PYTHON) -m venv $(VENV)/fixtures/traces
	@PIP_CONSTRAINT= $(VENV)/fixtures/traces/bin/python -m pip install --quiet -r tests/fixtures/traces/versions.txt
	@$(VENV)/fixtures/traces/bin/python tests/fixtures/make_traces.py

fixtures-frameworks: $(VENV)/.vendors ## record again what the tests' assistants, built with the real frameworks, return
	@$(BIN)/python tests/framework_apps.py

bench: $(VENV)/.bench ## measure speed against other tools (docs/explanation/performance.md)
	@$(BIN)/python -m benchmarks

# atheris watches the readers from an environment of its own, where it need not agree with anything else.
$(VENV)/fuzz/.made: pyproject.toml
	@echo "installing atheris in an environment of its own (once)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@PIP_CONSTRAINT= $(@D)/bin/python -m pip --quiet --disable-pip-version-check install atheris --editable '.[hdf5,parquet,pdf,xlsx]'
	@touch $@

FUZZ_SECONDS ?= 600
fuzz: $(VENV)/fuzz/.made ## coverage-guided fuzzing of every file reader (FUZZ_SECONDS, by default 600)
	@$(VENV)/fuzz/bin/python -m benchmarks.guided_fuzz $(FUZZ_SECONDS)

SOAK_SECONDS ?= 600
soak: $(VENV)/.dev ## evaluate, kill and resume over and over; nothing may be lost or grow (SOAK_SECONDS, by default 600)
	@$(BIN)/python -m benchmarks.soak $(SOAK_SECONDS)
	@GATE_CASES=100000 $(BIN)/python -m pytest -q tests/results/test_answer_gate.py
	@RAG_EVAL_LONG_TESTS=1 $(BIN)/python -m pytest -q tests/judging/test_long_texts.py

MUTANTS ?= 500
SEED ?= 0
mutants: $(VENV)/.dev ## mutation testing of metrics, gate and journal; the tests must catch 90 % (MUTANTS, by default 500; SEED)
	@$(BIN)/python -m benchmarks.mutation $(MUTANTS) $(SEED)

cards: $(VENV)/.dev ## measure the offline methods against people again and write their cards
	@$(BIN)/python -m benchmarks.cards

clean: ## remove the environment and caches
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .hypothesis .cache site build dist
