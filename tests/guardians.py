"""Guardians for a journal that may not exist yet."""

from collections.abc import Sequence
from pathlib import Path

from tuibench.model.server import Target
from tuibench.tuning.guardian import Guardian, GuardianRequest


async def started(target: Target, journal_path: Path, *, pass_fds: Sequence[int] = ()) -> Guardian:
    """A guardian that watches."""
    guardian = Guardian(GuardianRequest(target=target, journal=str(journal_path)), tuple(pass_fds))
    await guardian.ensure_alive()
    return guardian
