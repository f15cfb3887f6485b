# Two commands for a fresh machine with Python, pip and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
COMMA := ,
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --retries 10 --timeout 60
# A package index that hiccups is asked again.
install = $(PIP) install $(1) || { sleep 10; $(PIP) install $(1); } || { sleep 60; $(PIP) install $(1); }

# What is compiled, and by what: a change of these is a change of what is installed.
NATIVE := shaping/native/build.py $(wildcard shaping/native/*.c shaping/native/*.h shaping/native/*/*.h)

.PHONY: demo test lint types check native bench clean

.venv/installed: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv .venv
	$(call install,--upgrade pip)
	$(call install,--editable ".[mcp$(COMMA)http]")
	@touch $@

.venv/installed-dev: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv .venv
	$(call install,--upgrade pip)
	$(call install,--editable ".[all]" --group dev)
	@touch $@ .venv/installed

demo: .venv/installed
	$(BIN)/shaping demo

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

check: lint types

test: lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered --cov-fail-under=95

# The C of shaping/native alone, in place; unlike an install, this fails where it cannot be compiled.
native:
	$(BIN)/python -m shaping.native.build

bench: .venv/installed-dev
	$(BIN)/python benchmarks/bench_speed.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build shaping/native/*.so shaping/native/*.pyd
