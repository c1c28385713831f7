# The two commands, and what they need. `make help` lists the targets.
#
# PYTHON  the interpreter that .venv is made with (3.11 or newer; default: python3, else the newest that is found)
# VENV    the folder of the virtual environment

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV ?= .venv
PINS := requirements/pins.txt
PACKAGES := conformance fakes reference mutants
PROFILES := ag03 lesson4
# Workers beside each other (tests/conftest.py tells who gets which tests); most tests start processes of their own too.
PYTEST := -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# Children import again and again what nobody has changed.
unexport PYTHONDONTWRITEBYTECODE

new_enough := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(new_enough)' 2>/dev/null && echo "$$p" && break; done)
endif

# What the environment was made from, and what the project was installed into it from. Each part is made anew when its
# text changes, and only then. The path is part of it: scripts and the editable install hold absolute paths.
export DESCRIBE := import os, sys; print(sys.version, sys.base_prefix, os.getcwd(), sep="\n")
made_from = { "$(PYTHON)" -c "$$DESCRIBE" && cksum $(PINS); }
installed_from = cksum pyproject.toml

.PHONY: help
help: ## what can be made
	@sed -n 's/^\([.a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 14

.PHONY: check
check: venv ## of each profile: the suite on the reference loop, then every mutant against the suite
	@for profile in $(PROFILES); do \
		"$(VENV)/bin/looptck" check reference --profile "$$profile" || exit; \
		"$(VENV)/bin/looptck" mutants --profile "$$profile" || exit; \
	done

.PHONY: test
test: lint pytest ## lint, types, import rules, and the kit's own tests

.PHONY: lint
lint: venv ## everything that is judged without running the code
	"$(VENV)/bin/ruff" check .
	"$(VENV)/bin/ruff" format --check .
	"$(VENV)/bin/mypy"
	"$(VENV)/bin/lint-imports" --no-logo
	"$(VENV)/bin/deptry" $(PACKAGES)
	"$(VENV)/bin/vulture"

.PHONY: coverage
coverage: venv ## the kit's own tests under coverage, forked children included
	"$(VENV)/bin/coverage" erase
	"$(VENV)/bin/coverage" run $(PYTEST)
	"$(VENV)/bin/coverage" combine --quiet
	"$(VENV)/bin/coverage" report

.PHONY: pytest
pytest: venv ## the kit's own tests alone
	"$(VENV)/bin/python" $(PYTEST)

.PHONY: soak
soak: venv ## of each profile, the mutants twenty times in a row, each time with another seed
	@for profile in $(PROFILES); do for run in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
		"$(VENV)/bin/looptck" mutants --profile "$$profile" || exit; \
	done; done

.PHONY: matrix
matrix: venv ## record the kill matrix anew, after a change of checks or mutants
	"$(VENV)/bin/python" -m looptck_mutants.matrix

.PHONY: matrix-test
matrix-test: venv ## hold every mutant beside the recorded kill matrix; `make test` does so with a third of them
	"$(VENV)/bin/python" -m pytest -q --every-mutant tests/mutants/test_patches.py

.PHONY: systematic
systematic: venv ## of each profile, the mutants that mutmut makes: each is killed, or explained in the triage file
	@for profile in $(PROFILES); do \
		"$(VENV)/bin/looptck" mutants --systematic --profile "$$profile" || exit; \
	done

.PHONY: fuzz
fuzz: venv ## of each profile, twenty thousand scenarios of the fuzzer on the reference loop and on each correct one
	@for loop in reference tests/implementations/correct/*.py; do \
		"$(VENV)/bin/looptck" fuzz "$$loop" --examples 20000 --should || exit; \
	done
	@for loop in reference tests/implementations/lesson4/correct/*.py; do \
		"$(VENV)/bin/looptck" fuzz "$$loop" --profile lesson4 --examples 20000 --should || exit; \
	done

.PHONY: sweep
sweep: venv ## the whole crash sweep of each correct loop of ag03
	@for loop in reference tests/implementations/correct/*.py; do \
		"$(VENV)/bin/looptck" check "$$loop" --crash-sweep -k TestCrashSweep || exit; \
	done

.PHONY: fuzz-figures
fuzz-figures: venv ## measure how many scenarios each mutant survives, and write the table
	"$(VENV)/bin/python" -m looptck_mutants.fuzzed
	"$(VENV)/bin/python" tests/test_documents.py

.PHONY: bench
bench: venv ## the benchmarks, one after the other
	@for file in tests/benchmarks/bench_*.py; do \
		echo "$$file"; "$(VENV)/bin/python" "$$file" || exit 1; \
	done

.PHONY: format
format: venv ## rewrite the sources the way lint wants them
	"$(VENV)/bin/ruff" check --fix .
	"$(VENV)/bin/ruff" format .

.PHONY: pins
pins: ## resolve the pins again after a change of pyproject.toml (UV_FLAGS=--upgrade for newer versions)
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	"$(PYTHON)" -m venv "$$scratch"; \
	"$$scratch/bin/python" -m pip install --quiet --disable-pip-version-check uv; \
	"$$scratch/bin/uv" pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --no-annotate --quiet $(UV_FLAGS) --output-file $(PINS)

.PHONY: clean
clean: ## remove the environments, caches and results
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* \
		htmlcov dist build mutants.out mutants.out.old looptck.found
	find $(PACKAGES) tests -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: .venv
.venv: venv

.PHONY: venv
venv: ## the virtual environment, from the pinned versions; nothing is done if it is up to date
	@set -e; \
	if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c '$(new_enough)' 2>/dev/null; then \
		echo "error: Python 3.11 or newer is needed$(if $(PYTHON), and $(PYTHON) is not,; set PYTHON=/path/to/it)" >&2; exit 1; \
	fi; \
	same() { [ "$$1" = "$$(cat "$(VENV)/$$2" 2>/dev/null)" ]; }; \
	pip() { "$(VENV)/bin/python" -m pip install -qq --disable-pip-version-check "$$@"; }; \
	if ! same "$$($(made_from))" made-from; then \
		if ! "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null; then \
			echo "error: $(PYTHON) has no venv module (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; \
		fi; \
		if [ -e "$(VENV)" ] && [ ! -e "$(VENV)/pyvenv.cfg" ]; then \
			echo "error: $(VENV) exists and is no virtual environment" >&2; exit 1; \
		fi; \
		echo "making $(VENV) with $$("$(PYTHON)" -V)"; \
		"$(PYTHON)" -m venv --clear "$(VENV)"; \
		pip --require-hashes -r $(PINS); \
		$(made_from) > "$(VENV)/made-from"; \
	fi; \
	if ! same "$$($(installed_from))" installed-from; then \
		pip --no-deps --no-build-isolation --no-index -e .; \
		$(installed_from) > "$(VENV)/installed-from"; \
	fi
