"""Texts of changes: which values a preset changed, their short forms, and the A/B test that repeats them."""

import pytest

from tests.tui.support.script import FLUSH, PRESETS, SYNC
from tuibench.metrics.inference.messages import ab_order, brief_change, preset_change
from tuibench.model.settings import PresetState

UNSAFE = "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0"


def test_a_preset_names_the_values_that_changed() -> None:
    both = [("flush_log", "1", "0"), (SYNC, "1", "0")]
    assert preset_change("unsafe", both) == UNSAFE
    assert (
        preset_change("unsafe", [("flush_log", "0", "0"), (SYNC, "1", "0")])
        == "preset unsafe: sync_binlog 1 → 0"
    )
    assert preset_change("unsafe", [("flush_log", "0", "0")]) == "preset unsafe: no value changed"
    assert preset_change("unsafe", [("flush_log", "", "0")]) == "preset unsafe: flush_log ? → 0"


@pytest.mark.parametrize(
    ("change", "order"),
    [
        (UNSAFE, "preset=durable,unsafe"),
        ("preset unsafe: flush_log 2 → 0, sync_binlog 100 → 0", "preset=relaxed,unsafe"),
        ("preset unsafe: sync_binlog 1 → 0", ""),
        ("preset unsafe: no value changed", ""),
        ("preset gone: flush_log 1 → 0", ""),
        ("preset night: sync_binlog 1 → 0", "preset=durable,night"),
        ("threads 32 → 64", "threads=32,64"),
        (f"{SYNC} 1 → 0", "sync_binlog=1,0"),
        (f"{UNSAFE}; threads 32 → 64", ""),
    ],
)
def test_a_change_between_two_presets_can_be_alternated(change: str, order: str) -> None:
    night = PresetState(name="night", values={FLUSH: "1", SYNC: "0"}, risk="")
    assert ab_order(change, (*PRESETS, night)) == order


@pytest.mark.parametrize(
    ("change", "width", "brief"),
    [
        (UNSAFE, 49, UNSAFE),
        (UNSAFE, 48, "preset unsafe"),
        (f"{FLUSH} 1 → 0", 24, "innodb_flush_log_… 1 → 0"),
        (f"{FLUSH} 1 → 0", 16, f"{FLUSH} 1 → 0"),
        ("innodb_io_capacity 200 → 4000 (requested 4001: a multiple)", 28, "innodb_io_capaci… 200 → 4000"),
        ("load started with 16 threads", 9, "load started with 16 threads"),
    ],
)
def test_a_brief_change_loses_no_value_that_it_begins(change: str, width: int, brief: str) -> None:
    assert brief_change(change, width) == brief
