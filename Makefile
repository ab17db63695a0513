# The few things one does here. Each works on a clean clone with Python 3.11 or later; uv is used where it is installed.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(shell command -v uv 2>/dev/null)

.PHONY: run test check bench bench-crawl clean help

help:
	@echo 'make run     set up and crawl: a synthetic web, in seconds'
	@echo 'make test    set up and pass all tests'
	@echo 'make check   formatting, lint, types, import contracts'
	@echo 'make bench   measure the hot paths, as ratios, and a small crawl beside Scrapy, which it installs; 3 minutes'
	@echo 'make bench-crawl  whole crawls beside other crawlers, which it installs; half an hour'
	@echo 'make clean   remove the virtual environment'

# Sources are compiled here: pip leaves out those that it only points at, uv all of them, and where Python may not write
# bytecode every start would do it again.
$(READY): pyproject.toml $(wildcard native/*.[ch])
ifdef UV
	$(UV) venv --quiet --allow-existing --python '>=3.11' $(VENV)
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python -e '.[dev]'
else
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lycosa needs Python 3.11 or later: name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
endif
	$(BIN)/python -m compileall -q src
	@touch $@

run: $(READY)
	$(BIN)/lycosa demo

test: $(READY)
	$(BIN)/python -m pytest -n auto -q

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

# A crawl needs nginx to be served by; figures worth telling are those of bench-crawl, with all peers and more pages.
bench: $(READY)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.crawl --hosts 30 --rounds 1 --peers scrapy

bench-crawl: $(READY)
	$(BIN)/python -m benchmarks.crawl

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis src/lycosa/*.so
