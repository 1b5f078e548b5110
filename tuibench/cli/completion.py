"""Completion in bash, zsh and fish: candidates, replies to the shell, setup.

Candidates are found without connecting to a server or a session; unreadable entries are left out.

typer's own completion cannot complete `--option=value`. Bash passes it as three words, and typer takes the
`=` for the value. In zsh, typer's reply replaces the option by the value.

A shell's function calls the program with `_TUIBENCH_COMPLETE=complete_SHELL` and the words of the line in
`COMP_WORDS`, one per line; `COMP_CWORD` is the number of the unfinished one. The reply has one word per line.
"""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tuibench.base import files, paths
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.cli.arguments import COMPLETE_VARIABLE

EQUALS = "="


Candidates = Mapping[str, str]
"""The possible words in order, each with its help. After a word that ends in `=`, its value is completed."""

CandidateSource = Callable[[], Candidates]
PositionalRule = Callable[[Sequence[str]], Candidates]
"""Returns the candidates for an argument, given the arguments before it."""


def without_help(*words: str) -> Candidates:
    return dict.fromkeys(words, "")


def profile_candidates() -> Candidates:
    """Built-in profiles, and those of the user."""
    from tuibench.workload import library

    return without_help(*sorted(library.available_profiles()))


def run_candidates() -> Candidates:
    """Runs and sweeps, newest first."""
    from tuibench.record import store
    from tuibench.record.store import LATEST

    try:
        recorded = sorted(store.recorded_ids(), reverse=True)
    except TuibenchError:
        return {}
    return without_help(LATEST, *recorded) if recorded else {}


def session_candidates() -> Candidates:
    """Sessions that listen, and dead ones whose socket still exists."""
    from tuibench.base.unix_sockets import SUFFIX

    found = {path.stem for folder in paths.runtime_dirs() for path in folder.glob(f"*{SUFFIX}")}
    return without_help(*sorted(found, reverse=True))


def setting_candidates(after: str = EQUALS) -> Candidates:
    """Settings of the catalogue, each with a suffix that asks for its value."""
    from tuibench.tuning.catalogue import SETTINGS

    return {setting.name + after: setting.risk for setting in SETTINGS}


def preset_candidates() -> Candidates:
    """Built-in presets, and those of the configuration file."""
    from tuibench.tuning import catalogue

    try:
        return {preset.name: preset.risk for preset in catalogue.all_presets()}
    except TuibenchError:
        return {}


def _ab_candidates() -> Candidates:
    return {"threads=": "", "preset=": "", **setting_candidates()}


def _fixed(*words: str) -> CandidateSource:
    return lambda: without_help(*words)


def _single(found: CandidateSource) -> PositionalRule:
    return lambda words: {} if words else found()


def _repeated(found: CandidateSource) -> PositionalRule:
    return lambda words: found()


def _action_then(*actions: str, then: CandidateSource) -> PositionalRule:
    """The rule for one of the actions, then its object; `list` has no object."""

    def rule(words: Sequence[str]) -> Candidates:
        if not words:
            return without_help(*actions)
        return {} if words[0] == "list" else then()

    return rule


def _ctl_candidates(words: Sequence[str]) -> Candidates:
    """A session or a verb, then the verb, then its arguments."""
    from tuibench.cli import sessions

    known = {verb.name: verb.help for verb in sessions.VERBS} | sessions.REPORTS
    if not words:
        return {**known, **session_candidates()}
    if known.keys().isdisjoint(words[:2]):
        return known if len(words) == 1 else {}
    return VERB_ARGUMENTS[words[-1]]() if words[-1] in VERB_ARGUMENTS else {}


POSITIONALS: dict[str, PositionalRule] = {
    "attach": _single(session_candidates),
    "compare": _repeated(run_candidates),
    "ctl": _ctl_candidates,
    "profiles": _action_then(
        "list", "show", "check", "from-slow-log", "from-digest", "from-lua", then=profile_candidates
    ),
    "replay": _single(run_candidates),
    "report": _single(run_candidates),
    "runs": _action_then("list", "show", "remove", then=run_candidates),
    "settings": _single(_fixed("list")),
    "web": _single(session_candidates),
}
"""The rule for the arguments of commands without a profile, by command."""

VERB_ARGUMENTS: dict[str, CandidateSource] = {
    "plan": _fixed("hold", "resume"),
    "preset": preset_candidates,
    "probe": _fixed("rate", "next", "stop"),
    "restore": partial(setting_candidates, ""),
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
"""The candidates for the values of options, by option, unless its help lists them."""


PROFILE_COMMANDS = frozenset(
    {"run", "live", "probe", "tune", "sweep", "crash", "prepare", "prewarm", "cleanup", "check", "doctor"}
)
LONG_PREFIX = "--"
HELP = {"--help": "Show the help and exit."}
GLOBAL_OPTIONS = HELP | {
    "--version": "Show version and engine, and exit.",
    "--install-completion=": "Set up completion by Tab: bash, zsh or fish.",
    "--show-completion=": "Print the script for it: bash, zsh or fish.",
}


class CommandLine(NamedTuple):
    """A command line that is being completed."""

    name: str
    """The name of the command."""
    words: Sequence[str]
    """The finished words after it."""
    unfinished: str
    """The word to complete."""
    command: Callable[[], Any]
    """Returns the parser's command; imports the module of the command."""

    @property
    def plain(self) -> list[str]:
        """Words that are neither options nor option values."""
        before = ("", *self.words)
        pairs = zip(before, self.words, strict=False)
        return [word for last, word in pairs if not word.startswith("-") and not self.is_asked_for(last)]

    def is_asked_for(self, option: str) -> bool:
        """True if the next word is the value of this option."""
        if not option.startswith("-") or EQUALS in option or option in HELP:
            return False
        known = next((each for each in self.command().params if option in each.opts), None)
        return known is None or not known.is_flag

    @property
    def profiles_options(self) -> Mapping[str, Any]:
        """Options of the profile on the line, by their names on the command line."""
        from tuibench.workload import library
        from tuibench.workload.compiler import known_options
        from tuibench.workload.options import THREADS, command_line_name

        if self.name not in PROFILE_COMMANDS or not self.plain:
            return {}
        try:
            known = known_options(library.load_profile(self.plain[0]))
        except TuibenchError:
            return {}
        return {command_line_name(name): option for name, option in known.items() if name != THREADS}


def completions(
    words: Sequence[str], unfinished: str, commands: Candidates, command: Callable[[str], Any]
) -> Candidates:
    """Candidates for the unfinished word; `words` are those before it, without the program's name."""
    name = next((word for word in words if word in commands), "")
    if not name:
        return _starting_with(unfinished, GLOBAL_OPTIONS if unfinished.startswith("-") else commands)
    place = words.index(name)
    line = CommandLine(name, [*words[:place], *words[place + 1 :]], unfinished, lambda: command(name))
    return _complete(line)


def _complete(line: CommandLine) -> Candidates:
    option, equals, value = line.unfinished.partition(EQUALS)
    if equals and option.startswith(LONG_PREFIX):
        found = _starting_with(value, _value_candidates(option, line))
        return {f"{option}={word}": help for word, help in found.items()}
    if line.unfinished.startswith("-"):
        first: dict[str, str] = {}
        others: dict[str, str] = {}
        for each in line.command().params:
            if each.param_type_name == "option" and not each.hidden:
                names = [name for name in each.opts if name.startswith(LONG_PREFIX)]
                for place, name in enumerate(names):
                    (others if place else first)[name if each.is_flag else name + EQUALS] = each.help or ""
        first |= {name + EQUALS: each.help for name, each in line.profiles_options.items()}
        return _starting_with(line.unfinished, first | HELP) or _starting_with(line.unfinished, others)
    if line.words and line.is_asked_for(line.words[-1]):
        return _starting_with(line.unfinished, _value_candidates(line.words[-1], line))
    return _starting_with(line.unfinished, _positional_candidates(line))


def _starting_with(unfinished: str, found: Candidates) -> Candidates:
    return {word: help for word, help in found.items() if word.startswith(unfinished)}


def _value_candidates(option: str, line: CommandLine) -> Candidates:
    """Candidates for the value of an option; none for files, numbers and free text."""
    if option in OPTION_VALUES:
        return OPTION_VALUES[option]()
    declared = next((each for each in line.command().params if option in each.opts), None)
    if declared is not None and (items := declared.shell_complete(None, "")):
        return without_help(*(item.value for item in items))
    known = line.profiles_options.get(option)
    if known is None:
        return {}
    return without_help(*("on", "off") if known.type == "flag" else known.choices)


def _positional_candidates(line: CommandLine) -> Candidates:
    if line.name in PROFILE_COMMANDS:
        return {} if line.plain else profile_candidates()
    rule = POSITIONALS.get(line.name)
    return rule(line.plain) if rule is not None else {}


REQUEST_PREFIX = "complete_"


def shell_reply(commands: Mapping[str, str], command: Callable[[str], Any]) -> str:
    """Reply to the shell named in the environment; empty without candidates."""
    shell = os.environ[COMPLETE_VARIABLE].removeprefix(REQUEST_PREFIX)
    if shell not in SHELL_FORMATS:
        return ""
    words, unfinished, cut = _read_command_line()
    found = completions(words, unfinished, commands, command)
    return "".join(f"{SHELL_FORMATS[shell](word[cut:], help)}\n" for word, help in found.items())


def _read_command_line() -> tuple[list[str], str, int]:
    """The finished words, the unfinished word, and the length of its beginning that bash treats as separate
    words.
    """
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


def _with_help(word: str, separator: str, help: str) -> str:
    return f"{word}{separator}{' '.join(help.split())}" if help else word


SHELL_FORMATS: dict[str, Callable[[str, str], str]] = {
    "bash": lambda word, _: word,
    "zsh": lambda word, help: _with_help(word.replace(":", r"\:"), ":", help),
    "fish": lambda word, help: _with_help(word, "\t", help),
}


BASH = """\
_tuibench_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        @VARIABLE@=complete_bash "$1" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o default -F _tuibench_completion tuibench
"""
ZSH = """\
#compdef tuibench
_tuibench_completion() {
    local -a found whole open
    local line
    found=(${(f)"$(COMP_WORDS="${(pj:\\n:)words[1,CURRENT]}" COMP_CWORD=$((CURRENT - 1)) \\
        @VARIABLE@=complete_zsh "${words[1]}" 2>/dev/null)"})
    for line in $found; do
        if [[ ${line%%:*} == *= ]]; then open+=("$line"); else whole+=("$line"); fi
    done
    if (( $#open + $#whole == 0 )); then _files; return; fi
    (( $#whole )) && _describe -V tuibench whole
    (( $#open )) && _describe -V tuibench open -S ''
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _tuibench_completion "$@"
else
    compdef _tuibench_completion tuibench
fi
"""
FISH = """\
function __tuibench_completion
    set -l words (commandline -opc)
    set -g __tuibench_found (COMP_WORDS=(string join \\n -- $words (commandline -ct) | string collect) \\
        COMP_CWORD=(count $words) @VARIABLE@=complete_fish $words[1] 2>/dev/null)
    test (count $__tuibench_found) -gt 0
end
complete --command tuibench --no-files --keep-order \\
    --condition __tuibench_completion --arguments '(string join \\n -- $__tuibench_found)'
"""


class Shell(NamedTuple):
    """The setup of a shell."""

    script: str
    """The text of the script."""
    home: str
    """The path of the script below the home folder."""
    rc: str = ""
    """The file of the shell that must contain `line`, if it does not load the script by itself."""
    line: str = ""


SHELLS = {
    "bash": Shell(BASH, ".bash_completions/tuibench.sh", ".bashrc", "source ~/.bash_completions/tuibench.sh"),
    "zsh": Shell(ZSH, ".zfunc/_tuibench", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": Shell(FISH, ".config/fish/completions/tuibench.fish"),
}


def completion_script(named: str) -> str:
    """The completion script of a shell, or of the calling shell if empty. Raises UsageError if unknown."""
    return SHELLS[_resolve_shell(named)].script.replace("@VARIABLE@", COMPLETE_VARIABLE)


def install_completion(named: str) -> str:
    """Write the script, and add the line if it is missing; returns a message about both.

    Raises UsageError for an unknown shell, RunError if a file cannot be written.
    """
    name = _resolve_shell(named)
    shell = SHELLS[name]
    place = files.expand_path("~") / shell.home
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(completion_script(name))
        if shell.rc:
            rc = files.expand_path("~") / shell.rc
            text = rc.read_text() if rc.exists() else ""
            if shell.line not in text.splitlines():
                rc.write_text(f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{shell.line}\n")
    except OSError as error:
        raise RunError(
            f"completion cannot be set up: {error}", f"tuibench --show-completion={name}"
        ) from error
    return f"completion for {name} is in {place}; start a new shell to use it"


def _resolve_shell(named: str) -> str:
    name = named or _calling_shell()
    if name not in SHELLS:
        raise UsageError(f"completion is for {', '.join(SHELLS)}, not for '{name}'")
    return name


def _calling_shell() -> str:
    """The name of the shell that started this program; that of $SHELL if it cannot be determined."""
    command = ["ps", "-o", "comm=", "-p", str(os.getppid())]
    try:
        parent = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        parent = ""
    name = Path(parent.strip().removeprefix("-")).name
    return name if name in SHELLS else Path(os.environ.get("SHELL", "")).name
