# For GNU make 3.81 or newer, on Linux and macOS. `make` alone says what there is to make.

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --constraint constraints.txt
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11 python
TORCH_CPU := https://download.pytorch.org/whl/cpu

# Tests run in a process for each core and one more; who is done early takes over what others have.
PARALLEL := -n auto --maxprocesses 4 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help venv install demo web site test thorough load fuzz faults mutants check wheels clean

help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

venv: $(PY) ## a virtual environment in .venv, with Python 3.11 or newer

install: $(VENV)/installed ## glassformer, its server, its app and what they need, into .venv
	@npm_config_fetch_retries=1 $(PY) web/build.py || \
	  echo "The app is not built; everything else is there, and make web tries again."

demo: install ## translate, train on the built-in corpus, translate again: some minutes
	$(PY) -m glassformer demo

web: $(PY) ## build the app that `glassformer serve` shows, with Node from PyPI if there is none
	$(PY) web/build.py

site: $(VENV)/installed-documentation web ## pages for a web space, with the documentation, into public
	$(PY) -m tools.documentation -o public/docs
	$(PY) -m glassformer site -o public --gallery docs/gallery

test: $(VENV)/installed-dev ## all quick tests (ARGS="-m slow -n 0" for the slow ones)
	@$(PY) web/build.py || echo "The tests of the app skip."
	$(PY) -m pytest $(PARALLEL) $(ARGS)

thorough: ## the same with more inputs, languages, processes and updates, as CI runs them afterwards
	@$(MAKE) test ARGS='-m "thorough and not slow" $(ARGS)'

faults: $(VENV)/installed-dev ## all that is done to break it: an hour; writes docs/reliability.md
	$(PY) -m pytest tests/faults -m "slow or not slow" --reliability docs/reliability.md $(ARGS)

load: $(VENV)/installed-load ## the server under load, beside CTranslate2: 15 minutes
	$(PY) tests/load/measure.py $(ARGS)

fuzz: $(VENV)/installed-load ## whatever is sent to the server, it answers: 10 minutes
	$(PY) tests/load/fuzz.py

mutants: $(VENV)/installed-dev ## whether tests notice small wrong changes; writes docs/reliability.md
	$(PY) -m tests.mutation --page $(ARGS)

check: $(VENV)/installed-dev ## style, types and the rules of the house
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m pytest tests/house -m "not slow"

wheels: $(VENV)/installed-release web ## packages to publish, for every kind of machine, into dist
	rm -rf dist
	$(PY) -m build --no-isolation --sdist
	for target in $$($(PY) -m glassformer.extensions.wheels.targets); do \
	  GLASSFORMER_TARGET=$$target $(PY) -m build --no-isolation --wheel || exit 1; \
	done
	$(PY) -m twine check --strict dist/*

clean: ## remove caches and builds; .venv stays
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@for python in $(PYTHON) $(PYTHONS); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$($$python --version)"; \
	    $$python -m venv $(VENV) && exit 0; \
	    rm -rf $(VENV); \
	    echo "$$python cannot make a virtual environment (Debian: apt install python3-venv)" >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "No Python 3.11 or newer found: install one, or make PYTHON=/path/to/python" >&2; \
	exit 1

# PyPI's torch for Linux brings 3 GB of CUDA libraries, which only an NVIDIA driver has use for.
# First choice: a wheel that pip is told to find on this machine (its `find-links` setting).
$(VENV)/torch: $(PY) constraints.txt
	@if $(INSTALL) --quiet --no-index --no-deps torch 2>/dev/null; then \
	  echo "torch: found on this machine"; \
	elif [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null; then \
	  echo "torch: downloading the CPU build, 200 MB, from $(TORCH_CPU)"; \
	  $(INSTALL) --retries 1 --timeout 10 --index-url $(TORCH_CPU) --no-deps torch \
	    2>/dev/null || \
	    echo "torch: no luck there; the package index comes next, up to 3 GB"; \
	else \
	  echo "torch: from the package index, 100 MB (macOS) to 3 GB (Linux with CUDA)"; \
	fi
	@touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	@echo "Installing the other packages: up to 60 MB to download"
	$(INSTALL) --quiet --editable '.[all]'
	@if ! $(PY) -c 'from glassformer.foundation.shared_library.compiler import *; exit(not find_compiler())'; \
	then \
	  echo "No C compiler: downloading Zig's, 100 MB"; \
	  $(INSTALL) --quiet ziglang; \
	fi
	$(PY) -m glassformer.foundation.shared_library
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Installing what tests and checks need: up to 210 MB to download"
	$(INSTALL) --quiet --editable '.[dev]'
	@touch $@

$(VENV)/installed-release: $(VENV)/installed
	@echo "Installing what builds packages, Zig's C compiler among it: 120 MB to download"
	$(INSTALL) --quiet --editable '.[release]'
	@touch $@

$(VENV)/installed-documentation: $(VENV)/installed
	@echo "Installing what makes pages of the documentation: 60 MB to download"
	$(INSTALL) --quiet --editable '.[documentation]'
	@touch $@

$(VENV)/installed-load: $(VENV)/installed-dev
	@echo "Installing a load generator and a fuzzer: up to 30 MB to download"
	$(INSTALL) --quiet --editable '.[dev,load]'
	@touch $@
