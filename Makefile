# Two commands on a fresh machine with Python 3.11 or newer, pip and make:
#   make demo    set up .venv and run the main job on the embedded data set
#   make test    set up .venv and run the tests that need neither a server, a browser, Java nor minutes
#   make test-all  all tests
#   make serve   the demo's model over HTTP, with three lines to try
#   make docs    the documentation site: build/site/index.html
#   make dist    wheel and sdist, checked and tried in a venv of their own
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# dev,oracles adds torch and the losses of others, for the tests that are held against them
EXTRAS ?= dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# tests with one of these markers (pyproject.toml) run with test-all only
TIERS := process or browser or spark or database or docs or exhaustive
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile

.PHONY: demo serve test test-all test-times lint format docs man dist bench reproduce clean

demo: $(VENV)/.core
	$(BIN)/xorec demo

# on 127.0.0.1; PORT=9000 chooses another port
serve: $(VENV)/.serve demo/debian.xorec
	$(BIN)/xorec serve demo/debian.xorec $(if $(PORT),--port $(PORT))

demo/debian.xorec: | $(VENV)/.core
	$(BIN)/xorec demo

test: $(VENV)/.dev
	$(PYTEST) -m "not ($(TIERS))" --junitxml=build/test.xml

# those, then the others; tests/durations.json has the seconds: commit it with a change of the tests
test-all: test
	$(PYTEST) -m "$(TIERS)" --hypothesis-profile=thorough --junitxml=build/test-all.xml
	$(BIN)/python tools/test_times.py build/test.xml build/test-all.xml

test-times:
	$(PYTHON) tools/test_times.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# fails on a broken link or anchor, on a public name without a docstring or an example, and on anything from another host
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "build/site/index.html"

man: $(VENV)/.core
	$(BIN)/python tools/site/commands.py man build/man/xorec.1

dist: $(VENV)/.release
	$(BIN)/python tools/check_release.py

# DATA is a folder with a given split, for example: make bench DATA=path/to/yelp2018
bench: $(VENV)/.peers
	@test -n "$(DATA)" || { echo "make bench needs DATA=path/to/a/data/set"; exit 2; }
	$(BIN)/xorec bench train --data $(DATA)
	$(BIN)/python benchmarks/evaluation.py --data $(DATA)
	$(BIN)/python benchmarks/read_csv.py

# the paper's experiments on the embedded data set, in minutes: report/report.html
reproduce: $(VENV)/.reproduce
	$(BIN)/xorec reproduce all --quick

clean:
	rm -rf $(VENV) build demo dist report

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) -e '.[$(EXTRAS)]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) -e '.[docs]'
	touch $@

$(VENV)/.release: $(VENV)/.core
	$(PIP) -e '.[release]'
	touch $@

$(VENV)/.serve: $(VENV)/.core
	$(PIP) -e '.[serve]'
	touch $@

$(VENV)/.reproduce: $(VENV)/.core
	$(PIP) -e '.[reproduce]'
	touch $@

$(VENV)/.peers: $(VENV)/.core
	$(PIP) -e '.[peers]'
	touch $@
