"""Checks whether a host can reach the server of a load: certificate files, and a login."""

from pathlib import Path

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import TuibenchError, UsageError
from tuibench.load.cluster.messages import ServerReached
from tuibench.model.target import LOOPBACK_HOSTS, Endpoint, Target
from tuibench.mysql.connection import connect


def check_files(target: Target) -> None:
    """Raises UsageError for a certificate or key that is not on this host."""
    files = {"--ssl-ca": target.ssl_ca, "--ssl-cert": target.ssl_cert, "--ssl-key": target.ssl_key}
    for option, path in files.items():
        if path and not Path(path).is_file():
            raise UsageError(f"{option}: there is no file {path}", "copy it to the same path on every host")


def local_endpoint(target: Target) -> str:
    """The first endpoint that is a different server on each host; empty if there is none."""
    own = Endpoint(host=target.host, port=target.port, socket=target.socket)
    for each in (own, *target.further):
        if each.socket:
            return f"socket {each.socket}"
        if each.host in LOOPBACK_HOSTS or each.host.startswith("127."):
            return f"{each.host}:{each.port}"
    return ""


async def try_login(target: Target, clock: Clock) -> ServerReached:
    """Logs in to the server and disconnects; returns the duration, or the reason for a failure."""
    began_ns = clock.now_ns()
    try:
        check_files(target)
        connection = await connect(target)
    except TuibenchError as error:
        return ServerReached(seconds=(clock.now_ns() - began_ns) / NS_PER_SECOND, problem=error.message)
    seconds = (clock.now_ns() - began_ns) / NS_PER_SECOND
    await connection.close()
    return ServerReached(seconds=seconds)
