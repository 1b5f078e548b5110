"""Completion candidates: profiles, runs, sessions, settings, presets, verbs.

They are found without connecting to a server or a session; unreadable entries are left out.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench import paths
from tuibench.errors import TuibenchError

EQUALS = "="


class Candidate(NamedTuple):
    """A possible word. One that ends in `=` is followed by its value."""

    word: str
    help: str = ""


CandidateSource = Callable[[], list[Candidate]]
PositionalRule = Callable[[Sequence[str]], list[Candidate]]
"""Candidates by the words before."""


def without_help(*words: str) -> list[Candidate]:
    """Candidates without a help text."""
    return [Candidate(word) for word in words]


def profile_candidates() -> list[Candidate]:
    """Built-in profiles, and the user's own."""
    from tuibench.workload import library

    return without_help(*sorted(library.available_profiles()))


def run_candidates() -> list[Candidate]:
    """Runs and sweeps, newest first."""
    from tuibench.record.files import store
    from tuibench.record.files.store import LATEST

    try:
        recorded = sorted(store.recorded_ids(), reverse=True)
    except TuibenchError:
        return []
    return without_help(LATEST, *recorded) if recorded else []


def session_candidates() -> list[Candidate]:
    """Sessions that listen, or have left their socket behind."""
    from tuibench.session.service.unix_sockets import SUFFIX

    found = {path.stem for folder in paths.runtime_dirs() for path in folder.glob(f"*{SUFFIX}")}
    return without_help(*sorted(found, reverse=True))


def setting_candidates() -> list[Candidate]:
    """Settings of the catalogue, each followed by a value."""
    return [Candidate(name + EQUALS, risk) for name, risk in _catalogue_settings()]


def preset_candidates() -> list[Candidate]:
    """Built-in presets, and those of the configuration file."""
    from tuibench.tuning.catalogue import preset_lookup

    try:
        return [Candidate(preset.name, preset.risk) for preset in preset_lookup.all_presets()]
    except TuibenchError:
        return []


def _catalogue_settings() -> list[tuple[str, str]]:
    from tuibench.tuning.catalogue.setting_lookup import SETTINGS

    return [(setting.name, setting.risk) for setting in SETTINGS]


def _ab_candidates() -> list[Candidate]:
    return [*without_help("threads=", "preset="), *setting_candidates()]


def _fixed(*words: str) -> CandidateSource:
    return lambda: without_help(*words)


def _single(found: CandidateSource) -> PositionalRule:
    return lambda words: [] if words else found()


def _repeated(found: CandidateSource) -> PositionalRule:
    return lambda words: found()


def _action_then(*actions: str, then: CandidateSource) -> PositionalRule:
    """One of the actions, then its object; `list` has none."""

    def rule(words: Sequence[str]) -> list[Candidate]:
        if not words:
            return without_help(*actions)
        return [] if words[0] == "list" else then()

    return rule


def _ctl_candidates(words: Sequence[str]) -> list[Candidate]:
    """A session or a verb, then the verb, then its arguments."""
    from tuibench.cli.commands.ctl import verbs

    known = [
        *(Candidate(verb.name, verb.help) for verb in verbs.VERBS),
        *(Candidate(name, help) for name, help in verbs.REPORTS.items()),
    ]
    names = {offer.word for offer in known}
    if not words:
        return [*known, *session_candidates()]
    if names.isdisjoint(words[:2]):
        return known if len(words) == 1 else []
    return VERB_ARGUMENTS[words[-1]]() if words[-1] in VERB_ARGUMENTS else []


POSITIONALS: dict[str, PositionalRule] = {
    "attach": _single(session_candidates),
    "compare": _repeated(run_candidates),
    "ctl": _ctl_candidates,
    "profiles": _action_then(
        "list", "show", "check", "from-slow-log", "from-digest", then=profile_candidates
    ),
    "replay": _single(run_candidates),
    "report": _single(run_candidates),
    "runs": _action_then("list", "show", "remove", then=run_candidates),
    "settings": _single(_fixed("list")),
    "web": _single(session_candidates),
}
"""Arguments of commands without a profile."""

VERB_ARGUMENTS: dict[str, CandidateSource] = {
    "plan": _fixed("hold", "resume"),
    "preset": preset_candidates,
    "probe": _fixed("rate", "next", "stop"),
    "restore": lambda: [Candidate(*each) for each in _catalogue_settings()],
    "set": setting_candidates,
}
OPTION_VALUES: dict[str, CandidateSource] = {
    "--ab": _ab_candidates,
    "--format": _fixed("text", "json"),
    "--preset": preset_candidates,
    "--profile": profile_candidates,
    "--setting": setting_candidates,
    "--ssl-mode": _fixed("disabled", "preferred", "required", "verify-ca", "verify-identity"),
    "--theme": _fixed("tuibench-dark", "tuibench-light", "ansi-dark", "ansi-light"),
}
"""Values of options that the help describes by one word."""
