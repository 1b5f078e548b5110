"""The named groups of durability settings, and what choosing each one risks."""

import difflib

from tuibench.errors import UsageError
from tuibench.model.setting import PresetState


def _preset(name: str, flush_log: str, sync_binlog: str, risk: str) -> PresetState:
    values = {"innodb_flush_log_at_trx_commit": flush_log, "sync_binlog": sync_binlog}
    return PresetState(name=name, values=values, risk=risk)


PRESETS = (
    _preset(
        "durable", "1", "1", "Every commit is on disk before the client hears of it: a crash loses nothing."
    ),
    _preset(
        "relaxed",
        "2",
        "100",
        "A crash of the host loses about the last second of commits, and up to 100 in the binary log.",
    ),
    _preset(
        "unsafe",
        "0",
        "0",
        "Any crash of the server loses about the last second of commits; a crash of the host also loses the "
        "latest of the binary log, and replicas then differ.",
    ),
)

_BY_NAME = {preset.name: preset for preset in PRESETS}


def preset_states() -> tuple[PresetState, ...]:
    """All presets, the safest first."""
    return PRESETS


def find(name: str) -> PresetState:
    """The preset of that name; UsageError with the nearest name otherwise."""
    preset = _BY_NAME.get(name.strip().lower())
    if preset:
        return preset
    near = difflib.get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "there are: " + ", ".join(_BY_NAME)
    raise UsageError(f"there is no preset '{name}'", hint)
