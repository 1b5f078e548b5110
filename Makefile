# What can be done with a clone. Everything a target needs is set up first, by .ci/setup.
# Plain enough for the GNU make 3.81 of macOS.

BIN := .venv/bin
ARGS ?=

# A process for each processor: unit and screen tests do not wait.
JOBS := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := -n $(JOBS) --dist worksteal
# Server tests wait: three modules at a time, those with the most tests first, on servers of their own.
SIDE_BY_SIDE := -n 3 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test check bench chaos tpcc screenshots format clean setup-demo setup-test

help:
	@echo "make demo         a private server under load in the live monitor (ARGS=... are passed on)"
	@echo "make test         lint, types, import contracts and all tests, with real servers"
	@echo "make check        the quick loop: lint, types, import contracts, unit tests"
	@echo "make bench        tuibench beside sysbench on the same tables"
	@echo "make chaos        random mishaps with settings on a real server, 50 sequences (ARGS=--server=PATH)"
	@echo "make tpcc         TPC-C with 10 warehouses, its conditions, each of them broken (ARGS=--server=PATH)"
	@echo "make screenshots  draws the pictures in screenshots/ again"
	@echo "make format       formats the code and mends what lint can mend"
	@echo "make clean        removes .venv, caches and builds"

demo: setup-demo
	@$(BIN)/tuibench demo $(ARGS)

test: setup-test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(PARALLEL) tests/unit tests/tui $(ARGS)
	$(BIN)/pytest $(SIDE_BY_SIDE) tests/integration $(ARGS)

check: setup-test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q $(PARALLEL) tests/unit $(ARGS)

bench: setup-test
	$(BIN)/python -m tests.bench $(ARGS)

chaos: setup-test
	$(BIN)/python -m tests.integration.chaos $(ARGS)

tpcc: setup-test
	$(BIN)/python -m tests.integration.tpcc_full $(ARGS)

screenshots: setup-test
	$(BIN)/python -m tests.tui.pictures screenshots $(ARGS)

format: setup-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-demo:
	@.ci/setup demo

setup-test:
	@.ci/setup test
