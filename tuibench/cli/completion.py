"""Completion in bash, zsh and fish: what typer's own lacks, and the setup of a shell.

typer finds the candidates, see `candidates`. Added here: `--option=value`, which bash passes as three words
and in which zsh would replace the option by the value; a command behind its profile, as in sysbench; the
options of the profile on the line; and `=` behind an option that takes a value, with no space after it.

A shell's function calls the program with `_TUIBENCH_COMPLETE=complete_SHELL` and the words of the line in
`COMP_WORDS`, one per line; `COMP_CWORD` is the number of the unfinished one. The reply has one word per line.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from typer._click.shell_completion import CompletionItem, ShellComplete
from typer.core import TyperGroup

from tuibench.base import files
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.cli.arguments import COMPLETE_VARIABLE
from tuibench.cli.candidates import Candidates
from tuibench.cli.typer_command import unchecked_options

EQUALS = "="
LONG_PREFIX = "--"
PROFILE_ARGUMENT = "profile"


class _Completion(ShellComplete):
    """typer's search for candidates, for words that are already read."""

    def source_vars(self) -> dict[str, Any]:
        raise NotImplementedError

    def get_completion_args(self) -> tuple[list[str], str]:
        raise NotImplementedError

    def format_completion(self, item: CompletionItem) -> str:
        raise NotImplementedError


def completions(parser: TyperGroup, words: Sequence[str], unfinished: str) -> Candidates:
    """Candidates for the unfinished word; `words` are those before it, without the program's name."""
    context = parser.make_context("tuibench", [], resilient_parsing=True)
    commands = parser.list_commands(context)
    name = next((word for word in words if word in commands), "")
    given = []
    if name and (command := parser.get_command(context, name)) is not None:
        place = words.index(name)
        given = [name, *words[:place], *words[place + 1 :]]
        _add_profile_options(command, given[1:])
    option, equals, _ = unfinished.partition(EQUALS)
    prefix = f"{option}=" if equals and option.startswith(LONG_PREFIX) else ""
    items = _Completion(parser, {}, "tuibench", COMPLETE_VARIABLE).get_completions(given, unfinished)
    return [(prefix + item.value, item.help or "") for item in items]


def _add_profile_options(command: Any, given: Sequence[str]) -> None:
    """Let the command take the options of the profile on the line, if it takes a profile."""
    from tuibench.workload import library
    from tuibench.workload.compiler import known_options
    from tuibench.workload.options import THREADS, command_line_name

    context = command.make_context(command.name, list(given), resilient_parsing=True)
    profile = context.params.get(PROFILE_ARGUMENT)
    if not profile or not context.ignore_unknown_options:
        return
    try:
        known = known_options(library.load_profile(profile))
    except TuibenchError:
        return
    command.params += unchecked_options(
        {
            command_line_name(name): ("on", "off") if option.type == "flag" else option.choices
            for name, option in known.items()
            if name != THREADS
        }
    )


REQUEST_PREFIX = "complete_"


def shell_reply(parser: TyperGroup) -> str:
    """Reply to the shell named in the environment; empty without candidates."""
    shell = os.environ[COMPLETE_VARIABLE].removeprefix(REQUEST_PREFIX)
    if shell not in SHELL_FORMATS:
        return ""
    words, unfinished, cut = _read_command_line()
    found = completions(parser, words, unfinished)
    return "".join(f"{SHELL_FORMATS[shell](word[cut:], help)}\n" for word, help in found)


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
