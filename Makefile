# Development targets. .ci/setup installs the requirements of a target first.
# Compatible with GNU make 3.81 of macOS.

BIN := .venv/bin
ARGS ?=

# Unit and screen tests are CPU-bound: one process per core.
JOBS := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := -n $(JOBS) --dist worksteal
# Integration tests mostly wait for servers: three modules in parallel, the largest first, each with its own servers.
SIDE_BY_SIDE := -n 3 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test native check bench chaos faults soak tpcc screenshots format clean setup-demo setup-test

help:
	@echo "make demo         run a private server under load in the live monitor (ARGS=... are passed to it)"
	@echo "make test         run lint, type checks, import contracts and all tests, with real servers"
	@echo "make native       check format, lint and unit tests of the native engine, if cargo is installed (part of make test)"
	@echo "make check        run lint, type checks, import contracts and unit tests"
	@echo "make bench        compare tuibench with sysbench on the same tables"
	@echo "make chaos        test settings with random failures on a real server, 50 sequences (ARGS=--server=PATH)"
	@echo "make faults       run every fault of server, network and client under load, with recovery times"
	@echo "make soak         run 20 minutes with changes and viewers and report growth of any process (ARGS=MINUTES)"
	@echo "make tpcc         test TPC-C with 10 warehouses and violate each of its conditions (ARGS=--server=PATH)"
	@echo "make screenshots  regenerate the pictures in screenshots/"
	@echo "make format       format the code and apply lint fixes"
	@echo "make clean        remove .venv, caches and builds"

demo: setup-demo
	@$(BIN)/tuibench demo $(ARGS)

test: setup-test native
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest $(PARALLEL) tests/unit tests/tui $(ARGS)
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not whole" tests/integration tests/faults $(ARGS)

# The native engine; skipped without a Rust compiler.
native:
	@if command -v cargo >/dev/null; then cd native && cargo fmt --check && \
	    cargo clippy --quiet --all-targets -- -D warnings && cargo test --quiet --no-default-features; \
	    else echo "cargo is not installed: skipping the native engine"; fi

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

faults: setup-test
	$(BIN)/pytest -p no:xdist tests/faults $(ARGS)

soak: setup-test
	$(BIN)/python -m tests.faults.soak $(ARGS)

tpcc: setup-test
	$(BIN)/python -m tests.integration.tpcc_full $(ARGS)

screenshots: setup-test
	$(BIN)/python -m tests.tui.pictures screenshots $(ARGS)

format: setup-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv dist native/target .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-demo:
	@.ci/setup demo

setup-test:
	@.ci/setup test
