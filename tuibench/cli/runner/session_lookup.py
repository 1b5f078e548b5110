"""Selection of a running session for the commands that take one."""

from pathlib import Path

from tuibench.cli.runner.event_loop import run_async
from tuibench.model.message import Hello, RunState
from tuibench.session.service import registry
from tuibench.session.service.client import SessionClient


def find_session_socket(session: str) -> Path:
    """Socket of the given session; empty selects the only one. Raises SessionAwayError and UsageError."""
    return run_async(registry.find_session(session))


def session_hints(session: str, *, has_load: bool = True) -> list[str]:
    """How to attach to a session that continues, control it and end it."""
    return [
        f"to watch:    tuibench attach {session}",
        f"to control:  tuibench ctl {session} {'threads 16' if has_load else 'set sync_binlog=0'}",
        f"to stop:     tuibench ctl {session} stop --wait",
    ]


async def fetch_hello(socket: Path) -> Hello:
    """Hello message of a session. Raises SessionAwayError."""
    client = await SessionClient.connect(socket)
    await client.close()
    return client.hello


def lifetime_text(hello: Hello) -> str:
    """Remaining lifetime of a session that is left running."""
    if hello.status.state in (RunState.STOPPING, RunState.ENDED):
        return f"{hello.session} is ending"
    if hello.viewers:
        return f"{hello.session} continues, watched by {hello.viewers} more"
    if hello.grace_seconds is None:
        return f"{hello.session} continues until it is stopped"
    return f"{hello.session} continues for {hello.grace_seconds:g} s, and longer while a viewer is attached"
