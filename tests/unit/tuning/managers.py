"""Tuners on a scripted server."""

from pathlib import Path

from tests.unit.tuning.fakes import INFO, FakeClock, FakeServer, journal_in
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.restore import RestoreOutcome, RestoreResult

UNSAFE = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0", "innodb_flush_log_at_timeout": "1"}


async def opened(server: FakeServer, folder: Path, **options: object) -> SettingsManager:
    tuner = SettingsManager(server.connect, journal_in(folder), INFO, clock=FakeClock(), **options)  # type: ignore[arg-type]
    await tuner.open()
    return tuner


def outcomes(restored: list[RestoreResult]) -> dict[str, RestoreOutcome]:
    return {one.setting: one.outcome for one in restored}
