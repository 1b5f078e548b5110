"""A command line that is not finished yet: what its last word may become, by where it stands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tuibench.cli.completion import lookups
from tuibench.cli.completion.lookups import GOES_ON, Offer, plainly
from tuibench.cli.help import TAKES
from tuibench.errors import TuibenchError

Commands = Mapping[str, str]
"""What each command does, by its name."""

TAKE_PROFILES = frozenset({"run", "live", "probe", "sweep", "prepare", "cleanup", "check", "doctor"})
LONG = "--"
HELP = Offer("--help", "Show what it does, and exit.")
ROOT = (
    HELP,
    Offer("--version", "Show the version and exit."),
    Offer("--install-completion=", "Set up completion by Tab: bash, zsh or fish."),
    Offer("--show-completion=", "Print the script for it: bash, zsh or fish."),
)


class Line(NamedTuple):
    """The command, the finished words after it, the unfinished one.

    `command` is the parser's command; asking for it imports the command's module.
    """

    name: str
    words: Sequence[str]
    unfinished: str
    command: Callable[[], Any]

    @property
    def plain(self) -> list[str]:
        """The words that are neither options nor values of options."""
        before = ("", *self.words)
        pairs = zip(before, self.words, strict=False)
        return [word for last, word in pairs if not word.startswith("-") and not self.is_asked_for(last)]

    def is_asked_for(self, option: str) -> bool:
        """Whether the next word is this one's value."""
        if not option.startswith("-") or GOES_ON in option or option == HELP.word:
            return False
        known = next((each for each in self.command().params if option in each.opts), None)
        return known is None or not known.is_flag

    @property
    def profiles_options(self) -> Mapping[str, Any]:
        """The options of the profile that is named, as they are typed."""
        from tuibench.workload import library
        from tuibench.workload.compile import THREADS, known_options
        from tuibench.workload.options import spoken

        if self.name not in TAKE_PROFILES or not self.plain:
            return {}
        try:
            known = known_options(library.load(self.plain[0]))
        except TuibenchError:
            return {}
        return {spoken(name): option for name, option in known.items() if name != THREADS}


def offers(
    words: Sequence[str], unfinished: str, commands: Commands, command: Callable[[str], Any]
) -> list[Offer]:
    """What the unfinished word may become; `words` are those before it, without the program's name."""
    name = next((word for word in words if word in commands), "")
    if not name:
        first = ROOT if unfinished.startswith("-") else [Offer(*each) for each in commands.items()]
        return _beginning(unfinished, first)
    place = words.index(name)
    line = Line(name, [*words[:place], *words[place + 1 :]], unfinished, lambda: command(name))
    return _found(line)


def _found(line: Line) -> list[Offer]:
    option, equals, value = line.unfinished.partition(GOES_ON)
    if equals and option.startswith(LONG):
        return [
            each._replace(word=f"{option}={each.word}") for each in _beginning(value, _values(option, line))
        ]
    if line.unfinished.startswith("-"):
        return _options(line)
    if line.words and line.is_asked_for(line.words[-1]):
        return _beginning(line.unfinished, _values(line.words[-1], line))
    return _beginning(line.unfinished, _positional(line))


def _beginning(unfinished: str, found: Iterable[Offer]) -> list[Offer]:
    """Those that go on where the word stops."""
    return [offer for offer in found if offer.word.startswith(unfinished)]


def _options(line: Line) -> list[Offer]:
    """The command's and its profile's; their other names only for who types one of those."""
    first, others = [], []
    for each in line.command().params:
        if each.param_type_name == "option" and not each.hidden:
            names = [name for name in each.opts if name.startswith(LONG)]
            told = [Offer(name if each.is_flag else name + GOES_ON, each.help or "") for name in names]
            first += told[:1]
            others += told[1:]
    first += [Offer(name + GOES_ON, each.help) for name, each in line.profiles_options.items()]
    return _beginning(line.unfinished, [*first, HELP]) or _beginning(line.unfinished, others)


def _values(option: str, line: Line) -> list[Offer]:
    """What the option takes, as far as there is a choice; nothing for files, numbers and free text."""
    if option in lookups.VALUES:
        return lookups.VALUES[option]()
    words = TAKES.get(option, "").split("|")
    if len(words) > 1 and all(word.islower() for word in words):
        return plainly(*words)
    known = line.profiles_options.get(option)
    if known is None:
        return []
    return plainly(*("on", "off") if known.type == "flag" else known.choices)


def _positional(line: Line) -> list[Offer]:
    """The next word that is no option."""
    if line.name in TAKE_PROFILES:
        return [] if line.plain else lookups.profiles()
    rule = lookups.PLACES.get(line.name)
    return rule(line.plain) if rule is not None else []
