"""Completion of a command line for bash, zsh and fish.

Click's own completion does not complete `--option=value`: bash passes it as three words, of which click takes
the `=` for the option's value, and in zsh click's response replaces the option with the value.

A shell's function calls the program with `_TUIBENCH_COMPLETE=complete_SHELL` and the words of the line in
`COMP_WORDS`, one per line; `COMP_CWORD` is the number of the unfinished one. The reply has one word per line.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tuibench.cli.completion import candidates
from tuibench.cli.completion.candidates import EQUALS, Candidate, without_help
from tuibench.cli.parsing.arguments import COMPLETE_VARIABLE
from tuibench.errors import TuibenchError

Commands = Mapping[str, str]
"""Help text of each command, by name."""

PROFILE_COMMANDS = frozenset(
    {"run", "live", "probe", "tune", "sweep", "prepare", "prewarm", "cleanup", "check", "doctor"}
)
LONG_PREFIX = "--"
HELP = Candidate("--help", "Show the help and exit.")
GLOBAL_OPTIONS = (
    HELP,
    Candidate("--version", "Show the version and exit."),
    Candidate("--install-completion=", "Set up completion by Tab: bash, zsh or fish."),
    Candidate("--show-completion=", "Print the script for it: bash, zsh or fish."),
)


class CommandLine(NamedTuple):
    """The command, the finished words after it, and the unfinished word.

    `command` is the parser's command; asking for it imports the command's module.
    """

    name: str
    words: Sequence[str]
    unfinished: str
    command: Callable[[], Any]

    @property
    def plain(self) -> list[str]:
        """Words that are neither options nor option values."""
        before = ("", *self.words)
        pairs = zip(before, self.words, strict=False)
        return [word for last, word in pairs if not word.startswith("-") and not self.is_asked_for(last)]

    def is_asked_for(self, option: str) -> bool:
        """True if the next word is the value of this option."""
        if not option.startswith("-") or EQUALS in option or option == HELP.word:
            return False
        known = next((each for each in self.command().params if option in each.opts), None)
        return known is None or not known.is_flag

    @property
    def profiles_options(self) -> Mapping[str, Any]:
        """Options of the named profile, as typed."""
        from tuibench.workload import library
        from tuibench.workload.compile.profile_compiler import THREADS, known_options
        from tuibench.workload.language.options import command_line_name

        if self.name not in PROFILE_COMMANDS or not self.plain:
            return {}
        try:
            known = known_options(library.load_profile(self.plain[0]))
        except TuibenchError:
            return {}
        return {command_line_name(name): option for name, option in known.items() if name != THREADS}


def completions(
    words: Sequence[str], unfinished: str, commands: Commands, command: Callable[[str], Any]
) -> list[Candidate]:
    """Candidates for the unfinished word; `words` are those before it, without the program's name."""
    name = next((word for word in words if word in commands), "")
    if not name:
        first = (
            GLOBAL_OPTIONS if unfinished.startswith("-") else [Candidate(*each) for each in commands.items()]
        )
        return _starting_with(unfinished, first)
    place = words.index(name)
    line = CommandLine(name, [*words[:place], *words[place + 1 :]], unfinished, lambda: command(name))
    return _complete(line)


def _complete(line: CommandLine) -> list[Candidate]:
    option, equals, value = line.unfinished.partition(EQUALS)
    if equals and option.startswith(LONG_PREFIX):
        return [
            each._replace(word=f"{option}={each.word}")
            for each in _starting_with(value, _value_candidates(option, line))
        ]
    if line.unfinished.startswith("-"):
        return _option_candidates(line)
    if line.words and line.is_asked_for(line.words[-1]):
        return _starting_with(line.unfinished, _value_candidates(line.words[-1], line))
    return _starting_with(line.unfinished, _positional_candidates(line))


def _starting_with(unfinished: str, found: Iterable[Candidate]) -> list[Candidate]:
    """Candidates that start with the unfinished word."""
    return [offer for offer in found if offer.word.startswith(unfinished)]


def _option_candidates(line: CommandLine) -> list[Candidate]:
    """Options of the command and its profile; their aliases only if nothing else matches."""
    first, others = [], []
    for each in line.command().params:
        if each.param_type_name == "option" and not each.hidden:
            names = [name for name in each.opts if name.startswith(LONG_PREFIX)]
            found = [Candidate(name if each.is_flag else name + EQUALS, each.help or "") for name in names]
            first += found[:1]
            others += found[1:]
    first += [Candidate(name + EQUALS, each.help) for name, each in line.profiles_options.items()]
    return _starting_with(line.unfinished, [*first, HELP]) or _starting_with(line.unfinished, others)


def _value_candidates(option: str, line: CommandLine) -> list[Candidate]:
    """Values of the option; none for files, numbers and free text."""
    if option in candidates.OPTION_VALUES:
        return candidates.OPTION_VALUES[option]()
    declared = next((each for each in line.command().params if option in each.opts), None)
    words = declared.bound.choices or (declared.metavar or "").split("|") if declared is not None else ()
    if len(words) > 1 and all(word.islower() for word in words):
        return without_help(*words)
    known = line.profiles_options.get(option)
    if known is None:
        return []
    return without_help(*("on", "off") if known.type == "flag" else known.choices)


def _positional_candidates(line: CommandLine) -> list[Candidate]:
    """Candidates for the next positional argument."""
    if line.name in PROFILE_COMMANDS:
        return [] if line.plain else candidates.profile_candidates()
    rule = candidates.POSITIONALS.get(line.name)
    return rule(line.plain) if rule is not None else []


REQUEST_PREFIX = "complete_"


def shell_reply(commands: Mapping[str, str], command: Callable[[str], Any]) -> str:
    """Reply to the shell named in the environment; empty without candidates."""
    shell = os.environ[COMPLETE_VARIABLE].removeprefix(REQUEST_PREFIX)
    if shell not in SHELL_FORMATS:
        return ""
    words, unfinished, cut = _read_command_line()
    found = completions(words, unfinished, commands, command)
    return "".join(f"{SHELL_FORMATS[shell](each._replace(word=each.word[cut:]))}\n" for each in found)


def _read_command_line() -> tuple[list[str], str, int]:
    """The finished words, the unfinished one, and the length of its part that counts as earlier words."""
    words = os.environ.get("COMP_WORDS", "").split("\n")
    place = int(os.environ.get("COMP_CWORD") or 0)
    words = [*words[:place], words[place] if place < len(words) else ""]
    joined = _join_words(words[1:])
    last = joined[-1] if joined else ""
    cut = len(last) - len(words[-1]) if words[-1] != EQUALS else len(last)
    return joined[:-1], last, cut


def _join_words(words: Sequence[str]) -> list[str]:
    """The words as typed: bash splits `--threads=4` into three."""
    joined: list[str] = []
    for place, word in enumerate(words):
        follows = word == EQUALS or (place and words[place - 1] == EQUALS)
        if follows and joined:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _with_help(separator: str, offer: Candidate) -> str:
    return f"{offer.word}{separator}{' '.join(offer.help.split())}" if offer.help else offer.word


def _for_bash(offer: Candidate) -> str:
    return offer.word


def _for_zsh(offer: Candidate) -> str:
    return _with_help(":", offer._replace(word=offer.word.replace(":", r"\:")))


def _for_fish(offer: Candidate) -> str:
    return _with_help("\t", offer)


SHELL_FORMATS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
