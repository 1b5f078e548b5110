"""Runs all tests, or the unit tests alone, with the type checks beside them.

The tests on real servers mostly wait: beside them run the unit and screen tests at a lower priority. What
runs beside others is printed when it ends. The tests are compiled before, once for all test processes. Where
Python may not keep its bytecode beside the sources, it is kept in .venv for all test processes and the
programs they start, until the next time.
Usage: python .ci/all_tests.py all|unit ADVICE [PYTEST-ARGUMENTS...]
ADVICE says what to do about a failed test.
"""

import contextlib
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

UNIT = ("--dist", "worksteal", "tests/unit", "-m")
SERVERS = (
    "--dist", "loadfile", "--no-loadscope-reorder", "-m", "not whole", "tests/integration", "tests/faults",
)  # fmt: skip
"""Modules in the order of tests/integration/conftest.py; each worker has its own servers."""
MOST_SERVER_WORKERS = 6
TYPES = ("make", "--no-print-directory", "types")
LAST_LINES = 3
BYTECODE = Path(".venv/bytecode")
UNUSED_FOLDERS = frozenset({"test", "tests", "idlelib", "ensurepip", "lib2to3", "mypy", "pip"})
"""Folders of Python and of packages that no test imports."""


def main() -> int:
    what, advice, *arguments = sys.argv[1:]
    cores = os.cpu_count() or 2
    unit: Sequence[str] = ("-n", str(cores), *UNIT)
    # The types are checked by a make of their own, which has no part in the jobs of the one above it.
    os.environ.pop("MAKEFLAGS", None)
    share_bytecode()
    with ExitStack() as stack:
        others = [stack.enter_context(in_background(TYPES))]
        try:
            if what == "unit":
                compile_tests("tests/unit")
                command = [*step("unit tests", advice), *unit, "not whole and not long", *arguments]
            else:
                compile_tests("tests")
                unit = (*step("unit and screen tests", advice), *unit, "not whole", "tests/tui", *arguments)
                others.append(stack.enter_context(in_background(["nice", "-n", "5", *unit])))
                # Servers and their clients take less than half a core per worker: they mostly wait.
                workers = str(min(cores + 2, MOST_SERVER_WORKERS))
                command = [*step("tests on real servers", advice), "-n", workers, *SERVERS, *arguments]
            tests = subprocess.run(command, check=False)
        except KeyboardInterrupt:
            for other in others:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(other.pid, signal.SIGINT)
            return 130
    return next((each.returncode for each in (tests, *others) if each.returncode), 0)


def compile_tests(folder: str) -> None:
    """Lets one process write the bytecode of a fresh clone's tests: five workers would do it five times.

    pytest has a bytecode of its own, with its assertions.
    """
    prefix = os.environ.get("PYTHONPYCACHEPREFIX", "")
    if not any(Path(f"{prefix}{Path.cwd() / folder}").rglob("*-pytest-*.pyc")):
        subprocess.run(
            [".venv/bin/pytest", "--collect-only", "-q", folder], stdout=subprocess.DEVNULL, check=False
        )


@contextlib.contextmanager
def in_background(command: Sequence[str]) -> "Iterator[subprocess.Popen[bytes]]":
    """Runs a command, and prints its output when it has ended; waits for that at the end."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, process_group=0)
        printer = threading.Thread(target=print_when_ended, args=(process, output))
        printer.start()
        try:
            yield process
        finally:
            printer.join()


def share_bytecode() -> None:
    """Lets the processes that are started from here share their bytecode, and those of the next time."""
    if not sys.dont_write_bytecode:
        return
    folder = BYTECODE.resolve()
    if not folder.exists():
        link_bytecode(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def link_bytecode(folder: Path) -> None:
    """Makes the bytecode that is there beside the sources of Python and the packages known to the processes.

    With PYTHONPYCACHEPREFIX, Python looks for bytecode in that folder only. It compares the source with what
    the bytecode says of it, and replaces a link whose source has changed.
    """
    ending = f".{sys.implementation.cache_tag}.pyc"
    for base in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}:
        for path, folders, files in os.walk(base):
            folders[:] = [name for name in folders if name not in UNUSED_FOLDERS]
            if os.path.basename(path) == "__pycache__":
                linked = Path(f"{folder}{os.path.dirname(path)}")
                linked.mkdir(parents=True, exist_ok=True)
                for name in files:
                    if name.endswith(ending):
                        (linked / name).symlink_to(f"{path}/{name}")


def step(name: str, advice: str) -> list[str]:
    return [".ci/step", name, advice, ".ci/tests"]


def print_when_ended(process: "subprocess.Popen[bytes]", output: IO[str]) -> None:
    """Prints the whole output of a process that failed, else its last lines."""
    failed = process.wait() != 0
    output.seek(0)
    lines = output.readlines()
    print("\n" + "".join(lines if failed else lines[-LAST_LINES:]), end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
