"""A program that was started with its standard streams closed, as by a careless daemon."""

import os
import subprocess
import sys

import pytest

SOCKETS = """
import os, socket, sys
from tuibench.cli.output import stdio
stdio.open_closed_streams()
print("nobody reads this", file=sys.stderr)
print(sys.stdin.read() + "data", flush=True)
sock = socket.socket()
os.write(9, str(sock.fileno()).encode())
"""


FOREIGN = """
import sys
from tuibench.cli.output import formats, stdio
stdio.open_closed_streams()
print("1 × 2 → 3 …")
print("×…", file=sys.stderr)
formats.echo_json({"place": "4 × 100 …"})
"""


def test_a_character_that_the_terminal_lacks_is_no_reason_to_end() -> None:
    """Data for programs is UTF-8 all the same."""
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN],
        env={**os.environ, "PYTHONIOENCODING": "iso8859-1"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("1 × 2 ? 3 ?\n".encode("latin-1"))
    assert done.stdout.endswith('"4 × 100 …"\n}\n'.encode())
    assert done.stderr == "×?\n".encode("latin-1")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_nothing_that_is_opened_later_takes_the_place_of_a_closed_one(closed: str) -> None:
    """The number that a socket was given is told through a further descriptor."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" 9>&1 {closed}', sys.executable, SOCKETS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done
    assert int(done.stdout.split()[-1]) > 2
