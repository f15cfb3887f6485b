# Two commands for a fresh machine with Python, pip and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
COMMA := ,
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --retries 10 --timeout 60
# A package index that hiccups is asked again.
install = $(PIP) install $(1) || { sleep 10; $(PIP) install $(1); } || { sleep 60; $(PIP) install $(1); }

PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test test-integrations lint types check bench docs dist test-versions audit clean

.venv/installed: pyproject.toml
	@echo "installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(call install,--upgrade pip)
	@$(call install,--editable ".[mcp$(COMMA)http]")
	@touch $@

.venv/installed-dev: pyproject.toml
	@echo "installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(call install,--upgrade pip)
	@$(call install,--editable ".[all]" --group dev)
	@touch $@ .venv/installed

.venv/installed-release: .venv/installed-dev
	@$(call install,--group release)
	@touch $@

demo: .venv/installed
	$(BIN)/shaping demo

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: .venv/installed-dev
	$(BIN)/mypy

check: lint types

test: lint types
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-fail-under=95

# Each framework in an environment of its own, because their pins conflict; needs the package index and some minutes.
test-integrations: .venv/installed-dev
	$(BIN)/python -m benchmarks.integrations

bench: .venv/installed-dev
	$(BIN)/python -m benchmarks.bench_calls --quick

# The documentation as a site in site/; a warning stops the build.
docs: .venv/installed-dev
	$(BIN)/python -m benchmarks.make_reference
	$(BIN)/zensical build --strict

# What a release is made of: a pure wheel, an sdist that builds it, and the list of what it depends on.
dist: .venv/installed-release
	rm -rf dist .cache/dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	$(PYTHON) -m venv .cache/dist
	.cache/dist/bin/python -m pip --quiet install dist/*.whl
	.cache/dist/bin/shaping --version
	$(BIN)/cyclonedx-py environment .cache/dist/bin/python --output-format JSON --output-file dist/sbom.json

# The lowest versions that pyproject.toml allows; `make test` has the newest.
test-versions: .venv/installed-release
	$(BIN)/uv venv --quiet --clear .cache/lowest
	$(BIN)/uv pip install --quiet --python .cache/lowest/bin/python --resolution lowest-direct --editable ".[all]"
	$(BIN)/uv pip install --quiet --python .cache/lowest/bin/python --group dev
	.cache/lowest/bin/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning

# Known vulnerabilities of what is installed; asks the package index for them, and fails where it does not answer.
audit: .venv/installed-release
	mkdir -p .cache
	$(BIN)/python -m pip freeze --exclude-editable > .cache/audited.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement .cache/audited.txt

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build site .cache
