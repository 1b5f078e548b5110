"""Candidates of completion for arguments and options: profiles, runs, sessions, settings.

They are found without connecting to a server or a session; unreadable entries are left out. Options and
arguments name them as `autocompletion`; typer offers those that begin as the unfinished word does.
"""

from collections.abc import Callable

import typer

Candidates = list[tuple[str, str]]
"""The possible words in order, each with its help. After a word that ends in `=`, its value is completed."""


def words(*names: str) -> Callable[[], Candidates]:
    """A source of these words."""

    def source() -> Candidates:
        return [(name, "") for name in names]

    return source


def profiles() -> Candidates:
    """Built-in profiles, and those of the user."""
    from tuibench.workload import library

    return [(name, "") for name in sorted(library.available_profiles())]


def runs() -> Candidates:
    """Runs and sweeps, newest first."""
    from tuibench.base.errors import TuibenchError
    from tuibench.record import store

    try:
        recorded = sorted(store.recorded_ids(), reverse=True)
    except TuibenchError:
        return []
    return [(name, "") for name in (store.LATEST, *recorded)] if recorded else []


def sessions() -> Candidates:
    """Sessions that listen, and dead ones whose socket still exists."""
    from tuibench.base import paths
    from tuibench.base.unix_sockets import SUFFIX

    found = {path.stem for folder in paths.runtime_dirs() for path in folder.glob(f"*{SUFFIX}")}
    return [(name, "") for name in sorted(found, reverse=True)]


def _settings(after: str) -> Candidates:
    from tuibench.tuning.catalogue import SETTINGS

    return [(setting.name + after, setting.risk) for setting in SETTINGS]


def settings() -> Candidates:
    """Settings of the catalogue, each with a suffix that asks for its value."""
    return _settings("=")


def changed_settings() -> Candidates:
    """Settings of the catalogue by name."""
    return _settings("")


def presets() -> Candidates:
    """Built-in presets, and those of the configuration file."""
    from tuibench.base.errors import TuibenchError
    from tuibench.tuning import catalogue

    try:
        return [(preset.name, preset.risk) for preset in catalogue.all_presets()]
    except TuibenchError:
        return []


def trial_subjects() -> Candidates:
    """What an A/B test can compare."""
    return [("threads=", ""), ("preset=", ""), *settings()]


def object_of_action(source: Callable[[], Candidates]) -> Callable[[typer.Context], Candidates]:
    """The objects of a command's action; `list` has none."""

    def candidates(context: typer.Context) -> Candidates:
        return [] if context.params.get("action") == "list" else source()

    return candidates


PLAN_OPTIONS: dict[str, Callable[[], Candidates]] = {
    "ab": trial_subjects,
    "preset": presets,
    "profile": profiles,
    "setting": settings,
}
"""The candidates for options of a plan without a fixed choice, by key."""
