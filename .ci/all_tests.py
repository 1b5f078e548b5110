"""Runs all tests: those on real servers, which mostly wait, and beside them those that only need CPU time.

The latter run at a lower priority, and their output is printed when they end. Where Python may not keep its
bytecode beside the sources, it is kept in a temporary folder for all test processes and the programs they
start: otherwise each of them would compile the same files.
Usage: python .ci/all_tests.py ADVICE [PYTEST-ARGUMENTS...]; ADVICE says what to do about a failed test.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import IO

UNIT = ("--dist", "worksteal", "-m", "not whole", "tests/unit", "tests/tui")
# Three modules at a time, each with its own servers; tests/integration/conftest.py orders them.
SERVERS = (
    "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", "-m", "not whole",
    "tests/integration", "tests/faults",
)  # fmt: skip
LAST_LINES = 3


def main() -> int:
    advice, *arguments = sys.argv[1:]
    with shared_bytecode(), tempfile.TemporaryFile("w+") as output:
        cores = str(os.cpu_count() or 2)
        unit = subprocess.Popen(
            ["nice", "-n", "5", *step("unit and screen tests", advice), "-n", cores, *UNIT, *arguments],
            stdout=output, stderr=output, process_group=0,
        )  # fmt: skip
        printer = threading.Thread(target=print_when_ended, args=(unit, output))
        printer.start()
        try:
            servers = subprocess.run(
                [*step("tests on real servers", advice), *SERVERS, *arguments], check=False
            )
        except KeyboardInterrupt:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(unit.pid, signal.SIGINT)
            return 130
        finally:
            printer.join()
    return servers.returncode or unit.returncode


@contextlib.contextmanager
def shared_bytecode() -> Iterator[None]:
    """Lets the processes that are started meanwhile share their bytecode."""
    if not sys.dont_write_bytecode:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tb-") as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        yield


def step(name: str, advice: str) -> list[str]:
    return [".ci/step", name, advice, ".ci/tests"]


def print_when_ended(unit: "subprocess.Popen[bytes]", output: IO[str]) -> None:
    """Prints the whole output if a test failed, else its last lines."""
    failed = unit.wait() != 0
    output.seek(0)
    lines = output.readlines()
    print("\n" + "".join(lines if failed else lines[-LAST_LINES:]), end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
