"""Guardians for a journal that may not exist yet."""

from collections.abc import Sequence
from pathlib import Path

from tuibench.model.target import Target
from tuibench.tuning.guardian import Guardian
from tuibench.tuning.watch import Order


async def started(target: Target, journal_path: Path, *, pass_fds: Sequence[int] = ()) -> Guardian:
    """A guardian that watches."""
    guardian = Guardian(Order(target=target, journal=str(journal_path)), tuple(pass_fds))
    await guardian.ensure_alive()
    return guardian
