"""What counts as ours on the server: every value that we set, an original that we went back to, too."""

from collections.abc import Collection
from typing import Any, cast

import msgspec
import pytest

from tests.fakes import FakeClock
from tuibench.errors import UsageError
from tuibench.model.settings import SettingState
from tuibench.session.control.production_guard import ProductionGuard
from tuibench.session.control.settings import Settings
from tuibench.tuning.change.settings_manager import SettingsManager, WorkloadSettings
from tuibench.tuning.undo.guardian import Guardian
from tuibench.tuning.undo.restore import RestoreOutcome, RestoreResult

SYNC = SettingState(name="sync_binlog", value="1", original="1", meaning="", at_risk=False)
OTHER = SettingState(name="max_connections", value="151", original="151", meaning="", at_risk=False)


class FakeTuner:
    """One setting that can be changed, and one that nobody touches."""

    def __init__(self) -> None:
        self.known = (SYNC, OTHER)

    async def change(self, name: str, value: str) -> SettingState:
        changed = msgspec.structs.replace(SYNC, value=value)
        self.known = (changed, OTHER)
        return changed

    async def apply(self, preset: str) -> tuple[SettingState, ...]:
        return (await self.change("sync_binlog", "0"),)

    async def restore(self, only: Collection[str] = ()) -> list[RestoreResult]:
        await self.change("sync_binlog", "1")
        text = f"sync_binlog 0 → 1, as before ({', '.join(sorted(only))})"
        return [
            RestoreResult(
                setting="sync_binlog", outcome=RestoreOutcome.RESTORED, value="1", original="1", text=text
            )
        ]

    def rounding(self, name: str, value: str, now: str) -> str:
        return ""


def settings() -> Settings:
    nobody: Any = None
    return Settings(
        cast(SettingsManager, FakeTuner()),
        cast(Guardian, nobody),
        cast(WorkloadSettings, nobody),
        cast(ProductionGuard, nobody),
        FakeClock(),
        lambda kind, text: None,
    )


async def test_what_was_never_changed_is_not_ours() -> None:
    assert settings().ours == {}


async def test_an_original_that_we_went_back_to_is_no_foreign_change() -> None:
    hand = settings()
    await hand.change("sync_binlog", "0")
    assert hand.ours == {"sync_binlog": "0"}
    await hand.change("sync_binlog", "1")
    assert hand.ours == {"sync_binlog": "1"}


async def test_what_a_preset_set_is_ours() -> None:
    hand = settings()
    await hand.apply("unsafe")
    await hand.change("sync_binlog", "1")
    assert hand.ours == {"sync_binlog": "1"}


async def test_what_was_put_back_is_ours_and_a_name_that_is_no_setting_is_refused() -> None:
    hand = settings()
    await hand.change("sync_binlog", "0")
    assert await hand.restore_named(("sync-binlog",)) == ("sync_binlog 0 → 1, as before (sync_binlog)",)
    assert hand.ours == {"sync_binlog": "1"}
    with pytest.raises(UsageError, match="did you mean 'sync_binlog'"):
        await hand.restore_named(("sync_binlgo",))
