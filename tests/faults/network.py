"""A network of two hosts: this one and a namespace, with a link that can be cut without a word.

A process holds the namespaces of network and mounts; with its end they are gone, and the link with them.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.paths import ROOT

WRONG_ADDRESS = "02:00:00:00:00:01"
"""Frames to it reach nobody: a silent partition, of which neither end gets an error."""

PROGRAMS = ("unshare", "nsenter", "ip", "mount")


def can_make_networks() -> bool:
    """Whether this user may make namespaces here, and links into them."""
    if sys.platform != "linux" or os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        return False
    made = subprocess.run(
        ["unshare", "--net", "--mount", "ip", "link", "add", "type", "veth"],
        capture_output=True,
        check=False,
    )
    return made.returncode == 0


class Network:
    """This host is `here`, the namespace is `there`; programs are started in it with `prefix` before them."""

    def __init__(self, holder: int) -> None:
        self._holder = holder
        self._link = f"tbf{holder}"[:13]
        block = f"10.213.{holder % 250}"
        self.here, self.there = f"{block}.1", f"{block}.2"
        _ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", str(holder))
        _ip("address", "add", f"{self.here}/30", "dev", self._link)
        _ip("link", "set", self._link, "up")
        self._ip_there("address", "add", f"{self.there}/30", "dev", "eth0")
        self._ip_there("link", "set", "lo", "up")
        self._ip_there("link", "set", "eth0", "up")

    @property
    def prefix(self) -> list[str]:
        space = f"/proc/{self._holder}/ns"
        return ["nsenter", f"--net={space}/net", f"--mount={space}/mnt", f"--wd={ROOT}"]

    def cut(self) -> None:
        """From now on no packet arrives, in neither direction."""
        _ip("neighbour", "replace", self.there, "lladdr", WRONG_ADDRESS, "dev", self._link)
        self._ip_there("neighbour", "replace", self.here, "lladdr", WRONG_ADDRESS, "dev", "eth0")

    def heal(self) -> None:
        _ip("neighbour", "delete", self.there, "dev", self._link)
        self._ip_there("neighbour", "delete", self.here, "dev", "eth0")

    def use_hosts(self, hosts: Path) -> None:
        """The namespace resolves names by this file, and by nothing else."""
        subprocess.run([*self.prefix, "mount", "--bind", str(hosts), "/etc/hosts"], check=True)

    def _ip_there(self, *words: str) -> None:
        subprocess.run([*self.prefix, "ip", *words], check=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


HELD = "held"


def _holder_command() -> Sequence[str]:
    """Says that the namespaces are there, then waits for the end of its standard input."""
    return ("unshare", "--net", "--mount", "sh", "-c", f"echo {HELD}; exec cat")


@contextlib.contextmanager
def network() -> Iterator[Network]:
    with subprocess.Popen(_holder_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == HELD.encode()
        yield Network(holder.pid)
