"""A program that was started with its standard streams closed, as by a careless daemon."""

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time

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


LONG = """
from tuibench.cli.output import formats, stdio
stdio.open_closed_streams()
formats.echo_json("x" * 1_000_000)
"""


def waiting_bytes(descriptor: int) -> int:
    """What lies in a pipe unread."""
    count = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_signal_in_the_middle_of_a_long_output_loses_nothing(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen([sys.executable, "-c", LONG], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + 60
        while waiting_bytes(process.stdout.fileno()) < 65_536 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGCONT)
        assert len(process.stdout.read()) == 1_000_003
