"""Finds the server's process on this host: by its pid file, its unix socket, or its listening port.

The name is not used, because packages wrap the program. A found process is verified if possible: a pid file
may contain the pid of another container, and a proxy may listen on a port.
"""

import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tuibench.model.server import ServerInfo

AGE_TOLERANCE_SECONDS = 30.0
"""Tolerated difference between a process's age and the server's uptime: slow starts, clock corrections."""

_CREDENTIALS = struct.Struct("3i")
_PEER_TIMEOUT_SECONDS = 0.5


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The server's process; if it was not found, `pid` is None and `note` is the reason."""

    pid: int | None
    note: str = ""


def find_server_process(info: ServerInfo) -> ServerProcess:
    """Find the server's process. `info` must be fresh: its uptime is compared with the process's age.

    Takes milliseconds, tens of them on a host with thousands of processes: for use at a start and a restart,
    not in every tick.
    """
    if not info.is_local:
        return ServerProcess(pid=None, note="the server runs on another host")
    doubts: list[str] = []
    for road, candidates in _SEARCHES.items():
        for pid in candidates(info):
            if is_server_process(pid, info):
                return ServerProcess(pid=pid)
            doubts.append(f"the process of its {road} ({pid}) is another one")
    return ServerProcess(pid=None, note=doubts[0] if doubts else "the server's process was not found")


def is_server_process(pid: int, info: ServerInfo) -> bool:
    """True if the process works in the server's data directory, as every server does from its start.

    The working directory of another user's process cannot be read; then its age must match the uptime.
    """
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return False
    try:
        return os.path.realpath(process.cwd()) == os.path.realpath(info.datadir)
    except (psutil.Error, OSError):
        return _is_as_old(process, info.uptime_seconds)


def _is_as_old(process: psutil.Process, uptime_seconds: int | None) -> bool:
    if uptime_seconds is None:
        return False
    try:
        age_seconds = time.time() - process.create_time()
    except psutil.Error:
        return False
    return abs(age_seconds - uptime_seconds) <= AGE_TOLERANCE_SECONDS


def _by_pid_file(info: ServerInfo) -> Iterator[int]:
    try:
        yield int(Path(info.pid_file).read_text("ascii"))
    except (OSError, ValueError):
        return


def _by_socket(info: ServerInfo) -> Iterator[int]:
    """The listener of the socket: from the kernel's tables, else from the socket itself."""
    if not info.socket:
        return
    owners = {found.pid for found in _connections("unix") if found.pid and found.laddr == info.socket}
    if owners:
        yield from owners
    elif sys.platform == "linux":
        yield from _socket_peer(info.socket)


def _socket_peer(path: str) -> Iterator[int]:
    """The pid of a socket's listener, which the kernel reports to every peer of it.

    The server counts this as one aborted connect.
    """
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_PEER_TIMEOUT_SECONDS)
            probe.connect(path)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return
    pid = _CREDENTIALS.unpack(credentials)[0]
    if pid:
        yield pid


def _by_port(info: ServerInfo) -> Iterator[int]:
    for found in _connections("tcp"):
        if found.pid and found.status == psutil.CONN_LISTEN and found.laddr.port == info.port:
            yield found.pid


def _connections(kind: str) -> Sequence[Any]:
    """All connections of a kind; those of other users have no pid, or are missing."""
    try:
        return psutil.net_connections(kind)
    except (psutil.Error, OSError):
        return []


_SEARCHES: dict[str, Callable[[ServerInfo], Iterator[int]]] = {
    "pid file": _by_pid_file,
    "socket": _by_socket,
    "port": _by_port,
}
