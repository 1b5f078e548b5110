"""Runs all tests: those on real servers, which mostly wait, and beside them those that only need CPU time.

The latter run at a lower priority, and their output is printed when they end.
Usage: python .ci/all_tests.py ADVICE [PYTEST-ARGUMENTS...]; ADVICE says what to do about a failed test.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO

UNIT = ("--dist", "worksteal", "tests/unit", "tests/tui")
# Three modules at a time, each with its own servers.
SERVERS = ("-n", "3", "--dist", "loadfile", "-m", "not whole", "tests/integration", "tests/faults")
LAST_LINES = 3


def main() -> int:
    advice, *arguments = sys.argv[1:]
    with tempfile.TemporaryFile("w+") as output:
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
