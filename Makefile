# Two commands for a fresh machine with Python, pip and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
COMMA := ,
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --retries 10 --timeout 60
# A package index that hiccups is asked again.
install = $(PIP) install $(1) || { sleep 10; $(PIP) install $(1); } || { sleep 60; $(PIP) install $(1); }

# What is compiled, and by what: a change of these is a change of what is installed.
NATIVE := shaping/native/build.py $(wildcard shaping/native/*.c shaping/native/*.h shaping/native/*/*.h)
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
TWICE := tests/encoders tests/noise tests/tokens/test_density.py tests/test_promises.py
SANITIZED := build/sanitized

.PHONY: demo test lint types check native sanitize bench clean

.venv/installed: pyproject.toml $(NATIVE)
	@echo "installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(call install,--upgrade pip)
	@$(call install,--editable ".[mcp$(COMMA)http]")
	@touch $@

.venv/installed-dev: pyproject.toml $(NATIVE)
	@echo "installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(call install,--upgrade pip)
	@$(call install,--editable ".[all]" --group dev)
	@touch $@ .venv/installed

demo: .venv/installed
	$(BIN)/shaping demo

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

check: lint types

# What is written twice is tested twice: first the Python that the C must agree with, then everything with the C.
test: lint types
	SHAPING_NATIVE=off $(PYTEST) $(TWICE) --cov --cov-report=
	$(PYTEST) --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=95

# The C of shaping/native alone, in place; unlike an install, this fails where it cannot be compiled.
native:
	$(BIN)/python -m shaping.native.build

# The same C under gcc's checks for memory and undefined behaviour, in a copy of the package, and its tests on that: what the
# checks find they print past pytest, and end the worker.
sanitize: .venv/installed-dev
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED) && cp -r shaping profiles config $(SANITIZED)
	cd $(SANITIZED) && $(CURDIR)/$(BIN)/python -m shaping.native.build --sanitize
	export PYTHONPATH=$(CURDIR)/$(SANITIZED):$(CURDIR) PYTHONSAFEPATH=1 PYTHONMALLOC=malloc \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$$(gcc -print-file-name=libasan.so)" && \
	$(BIN)/python -c "from shaping import native; assert native.table and native.rules and native.density, 'it does not load'" && \
	$(PYTEST) --no-cov --capture=sys --max-worker-restart=0 --hypothesis-profile=brief \
	    tests/native tests/encoders tests/noise tests/tokens/test_density.py --ignore tests/native/test_build.py

bench: .venv/installed-dev
	$(BIN)/python benchmarks/bench_speed.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build shaping/native/*.so shaping/native/*.pyd
