"""What a server was asked while a program ran, as it counts itself: statements of each kind a transaction."""

import asyncio
from collections.abc import Mapping

from tuibench.model.server import Target
from tuibench.mysql.connection import connect

COUNTED = ("Com_begin", "Com_commit", "Com_delete", "Com_insert", "Com_select", "Com_update", "Com_rollback")
SAME = 0.01
"""A share of each figure: either program asks a few things of its own at its start."""

Mix = Mapping[str, float]


def counters(target: Target) -> dict[str, int]:
    """The server's counters of statements, since its start."""
    found = asyncio.run(_counters(target, COUNTED))
    return {name.removeprefix("Com_").lower(): value for name, value in found.items()}


def handshakes(target: Target) -> int:
    """Of TLS, with that of the connection that reads it."""
    return asyncio.run(_counters(target, ("Ssl_accepts",)))["Ssl_accepts"]


async def _counters(target: Target, counted: tuple[str, ...]) -> dict[str, int]:
    connection = await connect(target)
    try:
        names = ", ".join(f"'{name}'" for name in counted)
        rows = await connection.query(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
    finally:
        await connection.close()
    return {name: int(value) for name, value in rows}


def mix(before: Mapping[str, int], after: Mapping[str, int], transactions: float) -> Mix:
    """Statements of each kind for one transaction."""
    return {name: (after[name] - before[name]) / transactions for name in after}


def compared(theirs: Mix, ours: Mix) -> str:
    """Whether two mixes are the same; if not, where they differ most."""
    differences = {name: abs(ours[name] - theirs[name]) for name in theirs}
    worst = max(differences, key=differences.__getitem__)
    if all(differences[name] <= SAME * max(1.0, theirs[name]) for name in theirs):
        return "same"
    return f"{worst}: {theirs[worst]:.2f} and {ours[worst]:.2f}"
