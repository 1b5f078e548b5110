"""Installation of shell completion: the script of each shell, its location, and the line that loads it."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tuibench.cli.parsing.arguments import COMPLETE_VARIABLE
from tuibench.errors import RunError, UsageError

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
    """A shell: `home` is the script's path below the home folder; `rc` gets `line`, if that is needed."""

    script: str
    home: str
    rc: str = ""
    line: str = ""


SHELLS = {
    "bash": Shell(BASH, ".bash_completions/tuibench.sh", ".bashrc", "source ~/.bash_completions/tuibench.sh"),
    "zsh": Shell(ZSH, ".zfunc/_tuibench", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": Shell(FISH, ".config/fish/completions/tuibench.fish"),
}


def completion_script(named: str) -> str:
    """Completion script of a shell; empty selects the calling shell. Raises UsageError."""
    return SHELLS[_resolve_shell(named)].script.replace("@VARIABLE@", COMPLETE_VARIABLE)


def install_completion(named: str) -> str:
    """Write the script, and the line if missing; returns a report. Raises UsageError and RunError."""
    name = _resolve_shell(named)
    shell = SHELLS[name]
    place = Path.home() / shell.home
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(completion_script(name))
        if shell.rc:
            _add_line(Path.home() / shell.rc, shell.line)
    except OSError as error:
        raise RunError(
            f"completion cannot be set up: {error}", f"tuibench --show-completion={name}"
        ) from error
    return f"completion for {name} is in {place}; start a new shell to use it"


def _add_line(rc: Path, line: str) -> None:
    text = rc.read_text() if rc.exists() else ""
    if line not in text.splitlines():
        rc.write_text(f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n")


def _resolve_shell(named: str) -> str:
    name = named or _calling_shell()
    if name not in SHELLS:
        raise UsageError(f"completion is for {', '.join(SHELLS)}, not for '{name}'")
    return name


def _calling_shell() -> str:
    """The shell that started this program; from $SHELL if that cannot be determined."""
    command = ["ps", "-o", "comm=", "-p", str(os.getppid())]
    try:
        parent = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        parent = ""
    name = Path(parent.strip().removeprefix("-")).name
    return name if name in SHELLS else Path(os.environ.get("SHELL", "")).name
