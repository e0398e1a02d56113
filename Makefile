# Needs make and a Python >= 3.11; everything else is put into .venv. `make help` lists what there is.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test controlplane check fmt snapshots bench clean

# Another one: make PYTHON=python3.13 (after `make clean`).
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo "$$python" && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# More for pytest, or for the benchmarks.
ARGS ?=
CASE ?= fixtures/helmet-detection

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## render an example to the terminal: make demo CASE=fixtures/…
	@$(BIN)/sedna-render render --quiet $(CASE)

test: $(VENV)/.dev ## every test, with coverage; some of them: make test ARGS="-k node_port"
	@$(BIN)/python -m pytest --quiet $(if $(ARGS),$(ARGS),--cov --cov-report=term)

controlplane: $(VENV)/.python ## build the Kubernetes that tests use, once (needs Go); `make test` does it too
	@$(BIN)/python tests/controlplane/build.py

check: $(VENV)/.dev ## what needs no test run: format, lint, types, layers
	@$(BIN)/ruff format --check --quiet . || { echo "help: make fmt"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

fmt: $(VENV)/.dev ## format the code and mend what can be mended
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

snapshots: $(VENV)/.dev ## write tests/snapshots anew; then read `git diff`
	@$(BIN)/python -m pytest --quiet --snapshot-update --ignore=tests/packaging

bench: $(VENV)/.bench ## measure, side by side with peers, into docs/benchmarks.md: make bench ARGS=--quick
	@$(BIN)/python -m benchmarks --output docs/benchmarks.md $(ARGS)

clean: ## forget .venv and everything made
	@rm -rf $(VENV) .venv-* build dist .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp a set of packages: done once, and again when pyproject.toml changes.
$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 found" >&2; \
		echo "help: install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is not a Python >= 3.11" >&2; exit 1; }
	@echo "setting up $(VENV) with $$("$(PYTHON)" --version) ..." >&2
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "help: this Python has no venv; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.runtime: pyproject.toml | $(VENV)/.python
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.python
	@echo "installing what the tests need ..." >&2
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.runtime

$(VENV)/.bench: pyproject.toml | $(VENV)/.python
	@echo "installing what the benchmarks need ..." >&2
	@$(PIP) --editable '.[bench]'
	@touch $@ $(VENV)/.runtime
