"""Lists of hosts, ports and sockets, as sysbench has them: every host with every port, or every socket."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from tuibench.errors import UsageError
from tuibench.model.target import Endpoint

LARGEST_PORT = 65535


def endpoints(found: Mapping[str, object]) -> tuple[Endpoint, ...]:
    """What `host`, `port` and `socket` name, each a list with commas; sockets win. Raises UsageError."""
    hosts = _parts(found, "host", Endpoint().host)
    ports = [_port(text) for text in _parts(found, "port", str(Endpoint().port))]
    if not hosts or not ports:
        raise UsageError(
            f"{'--port' if hosts else '--host'} names nothing", "a list looks like this: db1,db2"
        )
    if sockets := _parts(found, "socket", ""):
        return tuple(Endpoint(host=hosts[0], port=ports[0], socket=socket) for socket in sockets)
    return tuple(Endpoint(host=host, port=port) for host, port in product(hosts, ports))


def fields(found: Mapping[str, object]) -> dict[str, Any]:
    """The same as fields of a Target: the first endpoint is the target's own."""
    first, *further = endpoints(found)
    own = {"host": first.host, "port": first.port, "socket": first.socket}
    return {**own, "further": tuple(further)}


def _parts(found: Mapping[str, object], name: str, default: str) -> list[str]:
    return [part for part in (text.strip() for text in str(found.get(name, default)).split(",")) if part]


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= LARGEST_PORT:
        raise UsageError(f"--port must be between 1 and {LARGEST_PORT}, not {text}")
    return int(text)
