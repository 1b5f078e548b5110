"""The named groups of settings, ours and the user's, and what choosing each one risks."""

from collections.abc import Iterable

from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.setting import PresetState
from tuibench.tuning import catalogue
from tuibench.workload import nearest


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
"""Those that come with tuibench, the safest first."""


def here(presets: Iterable[PresetState], server: ServerInfo) -> tuple[PresetState, ...]:
    """The presets with their values as this server will say them, where it can take them at all."""
    return tuple(
        PresetState(
            name=preset.name,
            values={name: _said(name, value, server) for name, value in preset.values.items()},
            risk=preset.risk,
        )
        for preset in presets
    )


def find(presets: Iterable[PresetState], name: str) -> PresetState:
    """The preset of that name; UsageError with the nearest name otherwise."""
    by_name = {preset.name: preset for preset in presets}
    preset = by_name.get(name.strip().lower())
    if preset:
        return preset
    raise UsageError(f"there is no preset '{name}'", nearest.hint(name.lower(), by_name))


def _said(name: str, value: str, server: ServerInfo) -> str:
    try:
        return catalogue.validate(catalogue.find(name), server, value)
    except UsageError:
        return value
