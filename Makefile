# Development targets. .ci/setup installs the requirements of a target first.
# Compatible with GNU make 3.81 of macOS.

BIN := .venv/bin
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
ARGS ?=

# pytest keeps the bytecode of thousands of tests, also where Python is told to keep none. The tests on servers mostly
# wait: two more of them run than there are cores, each process with servers of its own.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -q
UNITS := -n $(CORES) --dist worksteal tests/unit tests/tui
SERVERS := -n $$(($(CORES) + 2)) --dist loadfile --no-loadscope-reorder tests/integration tests/faults

.DEFAULT_GOAL := help
.PHONY: help archive demo test test-units test-servers test-all test-whole test-lowest check lint pure native dist release-check audit docs bench chaos faults soak stability tpcc screenshots showcase format clean setup-demo setup-test

help:
	@echo "make demo         run a private server under load in the live monitor (ARGS=... are passed to it)"
	@echo "make check        before a commit: format, lint, types, import contracts and the pure unit tests, under a minute"
	@echo "make test         prove every guarantee once, on one real server of each flavour, in a quarter of an hour"
	@echo "make test-all     prove the rest: both flavours everywhere, simulations, trials, all faults, TPC-C, the native"
	@echo "                  engine's own checks, the oldest dependencies"
	@echo "make test-lowest  run unit and screen tests with the oldest dependencies that are allowed (part of test-all)"
	@echo "make native       check format, lint and unit tests of the native engine (part of test-all)"
	@echo "make dist         build wheel, sdist and bill of materials in dist/, twice, and compare"
	@echo "make archive      build the archive with an interpreter of its own in dist/ (PYTHON selects which; ARGS=WHEEL)"
	@echo "make release-check  everything that a release needs, as one table"
	@echo "make audit        check dependencies, licences and workflows"
	@echo "make docs         build the documentation site in site/"
	@echo "make bench        compare tuibench with sysbench on the same tables"
	@echo "make chaos        test settings with random failures on a real server, 50 sequences (ARGS=--server=PATH)"
	@echo "make faults       run every fault of server, network and client under load, with recovery times"
	@echo "make soak         run 20 minutes with changes and viewers and report growth of any process (ARGS=MINUTES)"
	@echo "make stability    run the tests of make test 30 times on busy machines and slow disks, and name what fails"
	@echo "make tpcc         test TPC-C with 10 warehouses and violate each of its conditions (ARGS=--server=PATH)"
	@echo "make screenshots  regenerate the pictures in screenshots/"
	@echo "make showcase     measure the study of docs/showcase.md on this host, 5 minutes a server (SERVERS='NAME:FILE …')"
	@echo "make format       format the code and apply lint fixes"
	@echo "make clean        remove .venv, caches and builds"

demo: setup-demo
	@$(BIN)/tuibench demo $(ARGS)

check: setup-test
	@$(MAKE) --no-print-directory -j2 lint pure

lint:
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports

pure:
	@$(PYTEST) -n $(CORES) --dist worksteal -m "not whole and not long" tests/unit $(ARGS)

test: setup-test
	@$(MAKE) --no-print-directory test-units test-servers

test-units:
	@$(PYTEST) -m "not whole" $(UNITS) $(ARGS)

test-servers:
	@$(PYTEST) -m "not whole" $(SERVERS) $(ARGS)

test-all: setup-test
	@$(MAKE) --no-print-directory lint native test-whole test-lowest tpcc

test-whole:
	@$(PYTEST) -m whole --hypothesis-profile=explore $(UNITS) $(ARGS)
	@$(PYTEST) -m whole $(SERVERS) $(ARGS)

test-lowest: setup-test
	@.ci/test-lowest $(ARGS)

# Nobody debugs what is built here, and it is mostly built once.
native:
	@command -v cargo >/dev/null || { echo "cargo is not installed: the native engine is not checked"; exit 0; }; cd native \
	    && export CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 && cargo fmt --check \
	    && cargo clippy --quiet --all-targets -- -D warnings && cargo test --quiet --no-default-features \
	    && if [ "$$(uname -s)" = Linux ]; then cd disk && cargo fmt --check \
	    && cargo clippy --quiet --all-targets -- -D warnings && cargo test --quiet --lib; fi

dist:
	@.github/release/dist

archive:
	@$${PYTHON:-python3} .github/release/archive $(ARGS)

release-check:
	@.github/release/check

audit:
	@.github/release/audit

# A broken link or a page without a place in the navigation fails.
docs:
	@python3 -m venv .venv-docs && .venv-docs/bin/pip install --quiet --disable-pip-version-check \
	    --constraint .github/release/tools.txt mkdocs-material
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --config-file .github/site/mkdocs.yml
	@echo "site/index.html"

showcase: setup-demo
	@docs/showcase/run

bench: setup-test
	$(BIN)/python -m tests.bench $(ARGS)

chaos: setup-test
	$(BIN)/python -m tests.integration.tuning.chaos $(ARGS)

faults: setup-test
	$(BIN)/pytest -p no:xdist tests/faults $(ARGS)

soak: setup-test
	$(BIN)/python -m tests.faults.soak $(ARGS)

stability: setup-test
	$(BIN)/python -m tests.bench.stability $(ARGS)

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
