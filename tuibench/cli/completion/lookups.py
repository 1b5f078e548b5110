"""What there is to choose from: profiles, runs, sessions, settings, presets, verbs.

Nobody is called for it, no server and no session; what cannot be read is not offered.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench import paths
from tuibench.errors import TuibenchError

GOES_ON = "="


class Offer(NamedTuple):
    """A word that can stand there. Its value follows at once where it ends in `=`."""

    word: str
    help: str = ""


Choice = Callable[[], list[Offer]]
Rule = Callable[[Sequence[str]], list[Offer]]
"""By the words that stand there already."""


def plainly(*words: str) -> list[Offer]:
    """Words that need no help."""
    return [Offer(word) for word in words]


def profiles() -> list[Offer]:
    """Built in, and the user's own."""
    from tuibench.workload import library

    return plainly(*sorted(library.available()))


def runs() -> list[Offer]:
    """Runs and sweeps, the newest first."""
    from tuibench.record import collection
    from tuibench.record.shelf import LATEST

    try:
        recorded = sorted(collection.ids(), reverse=True)
    except TuibenchError:
        return []
    return plainly(LATEST, *recorded) if recorded else []


def sessions() -> list[Offer]:
    """Those that listen, or have left their socket behind."""
    from tuibench.session.sockets import SUFFIX

    found = {path.stem for folder in paths.runtime_dirs() for path in folder.glob(f"*{SUFFIX}")}
    return plainly(*sorted(found, reverse=True))


def settings() -> list[Offer]:
    """The catalogue, each waiting for a value."""
    return [Offer(name + GOES_ON, risk) for name, risk in _catalogue()]


def presets() -> list[Offer]:
    """Ours, and those of the configuration file."""
    from tuibench.tuning import own_presets

    try:
        return [Offer(preset.name, preset.risk) for preset in own_presets.presets()]
    except TuibenchError:
        return []


def _catalogue() -> list[tuple[str, str]]:
    from tuibench.tuning.catalogue import SETTINGS

    return [(setting.name, setting.risk) for setting in SETTINGS]


def _trials() -> list[Offer]:
    return [*plainly("threads=", "preset="), *settings()]


def _one_of(*words: str) -> Choice:
    return lambda: plainly(*words)


def _once(found: Choice) -> Rule:
    return lambda words: [] if words else found()


def _again(found: Choice) -> Rule:
    return lambda words: found()


def _after(*actions: str, then: Choice) -> Rule:
    """One of the actions, then what it is done to; a list is of all."""

    def rule(words: Sequence[str]) -> list[Offer]:
        if not words:
            return plainly(*actions)
        return [] if words[0] == "list" else then()

    return rule


def _ctl(words: Sequence[str]) -> list[Offer]:
    """A session or a verb, the verb, what the verb takes."""
    from tuibench.cli import verbs

    known = [*(Offer(verb.name, verb.help) for verb in verbs.VERBS), Offer(verbs.STATUS, "say how it stands")]
    names = {offer.word for offer in known}
    if not words:
        return [*known, *sessions()]
    if names.isdisjoint(words[:2]):
        return known if len(words) == 1 else []
    return AFTER_VERB[words[-1]]() if words[-1] in AFTER_VERB else []


PLACES: dict[str, Rule] = {
    "attach": _once(sessions),
    "compare": _again(runs),
    "ctl": _ctl,
    "profiles": _after("list", "show", "check", then=profiles),
    "replay": _once(runs),
    "report": _once(runs),
    "runs": _after("list", "show", "remove", then=runs),
    "settings": _once(_one_of("list")),
    "web": _once(sessions),
}
"""What stands behind a command that takes no profile."""

AFTER_VERB: dict[str, Choice] = {
    "plan": _one_of("hold", "resume"),
    "preset": presets,
    "probe": _one_of("rate", "next", "stop"),
    "restore": lambda: [Offer(*each) for each in _catalogue()],
    "set": settings,
}
VALUES: dict[str, Choice] = {
    "--ab": _trials,
    "--format": _one_of("text", "json"),
    "--isolation": _one_of("read-uncommitted", "read-committed", "repeatable-read", "serializable"),
    "--preset": presets,
    "--profile": profiles,
    "--setting": settings,
    "--ssl-mode": _one_of("disabled", "preferred", "required", "verify-ca", "verify-identity"),
    "--theme": _one_of("tuibench-dark", "tuibench-light", "ansi-dark", "ansi-light"),
}
"""What options take that the table of the help calls by a word."""
