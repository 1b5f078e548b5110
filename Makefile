# Development targets. .ci/setup installs the requirements of a target first.
# Compatible with GNU make 3.81 of macOS.

BIN := .venv/bin
ARGS ?=

# The time of each step, and what to do if it fails.
STEP := .ci/step

ONE_TEST := "run one of the failed tests with .venv/bin/pytest PATH::NAME; changed screens: see docs/architecture.md"

.DEFAULT_GOAL := help
.PHONY: help demo test all-tests test-all test-lowest lint style types native check dist audit docs bench chaos faults soak tpcc screenshots showcase format clean setup-demo setup-test

help:
	@echo "make demo         run a private server under load in the live monitor (ARGS=... are passed to it)"
	@echo "make test         run lint, type checks, import contracts and all tests, with real servers"
	@echo "make test-all     run make test, tests left out there, TPC-C at full size, and make test-lowest"
	@echo "make test-lowest  run unit and screen tests with the oldest dependencies that are allowed"
	@echo "make native       check format, lint and unit tests of the native engine, if cargo is installed (part of make test)"
	@echo "make check        run lint, type checks, import contracts and most unit tests"
	@echo "make dist         build wheel, sdist and bill of materials in dist/, twice, and compare"
	@echo "make audit        check dependencies, licences and workflows"
	@echo "make docs         build the documentation site in site/"
	@echo "make bench        compare tuibench with sysbench on the same tables"
	@echo "make chaos        test settings with random failures on a real server, 50 sequences (ARGS=--server=PATH)"
	@echo "make faults       run every fault of server, network and client under load, with recovery times"
	@echo "make soak         run 20 minutes with changes and viewers and report growth of any process (ARGS=MINUTES)"
	@echo "make tpcc         test TPC-C with 10 warehouses and violate each of its conditions (ARGS=--server=PATH)"
	@echo "make screenshots  regenerate the pictures in screenshots/"
	@echo "make showcase     measure the study of docs/showcase.md on this host, 15 minutes (SERVERS='NAME:FILE …')"
	@echo "make format       format the code and apply lint fixes"
	@echo "make clean        remove .venv, caches and builds"

demo: setup-demo
	@$(BIN)/tuibench demo $(ARGS)

# The native engine's checks need no .venv: they run from the beginning, at a lower priority than what others wait for.
# Types are checked beside the tests.
test:
	@.ci/setup needs
	@$(MAKE) --no-print-directory -j2 all-tests native

all-tests: setup-test
	@$(MAKE) --no-print-directory style
	@$(BIN)/python .ci/all_tests.py all $(ONE_TEST) $(ARGS)

# Everything: also the tests marked whole, TPC-C at full size, and the oldest dependencies.
test-all: test faults test-lowest tpcc
	@$(STEP) "tests that make test leaves out" $(ONE_TEST) $(BIN)/pytest -q -m whole tests/unit tests/tui tests/integration $(ARGS)

test-lowest: setup-test
	@$(STEP) "tests with the oldest dependencies" \
	    "raise the lower bound in pyproject.toml, or avoid what the old version lacks" .ci/test-lowest $(ARGS)

lint: style types

style:
	@$(STEP) "format" "run make format" $(BIN)/ruff format --check
	@$(STEP) "lint" "run make format; correct the rest by hand" $(BIN)/ruff check

types:
	@$(STEP) "types" "correct the lines above" $(BIN)/mypy
	@$(STEP) "import contracts" "move the import: docs/architecture.md has the layers" $(BIN)/lint-imports

dist:
	@.ci/dist

audit:
	@.ci/audit

docs:
	@.ci/docs

showcase: setup-demo
	@docs/showcase/run

# The native engine; skipped without a Rust compiler.
native:
	+@if command -v cargo >/dev/null; then $(STEP) "native engine" "correct the lines above" nice .ci/native; \
	    else echo "cargo is not installed: skipping the native engine"; fi

check: setup-test
	@$(MAKE) --no-print-directory style
	@$(BIN)/python .ci/all_tests.py unit $(ONE_TEST) $(ARGS)

bench: setup-test
	$(BIN)/python -m tests.bench $(ARGS)

chaos: setup-test
	$(BIN)/python -m tests.integration.tuning.chaos $(ARGS)

faults: setup-test
	$(BIN)/pytest -p no:xdist tests/faults $(ARGS)

soak: setup-test
	$(BIN)/python -m tests.faults.soak $(ARGS)

tpcc: setup-test
	$(BIN)/python -m tests.integration.workload.tpcc_full $(ARGS)

screenshots: setup-test
	$(BIN)/python -m tests.tui.pictures.screenshots screenshots $(ARGS)

format: setup-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv .venv-* dist site native/target .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-demo:
	@.ci/setup demo

setup-test:
	@.ci/setup test
