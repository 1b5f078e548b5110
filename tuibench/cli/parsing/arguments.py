"""Normalization of the arguments for the parser: spelling variants, hints for unknown commands.

As in sysbench, `--table_size` is `--table-size`, and `tuibench PROFILE help` shows the profile; `tuibench
help run` is `tuibench run --help`. `tuibench slap` accepts mysqlslap's options. Passwords have already been
removed, see `credentials`.
"""

import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tuibench.cli.parsing import sysbench_syntax
from tuibench.errors import UsageError

STDOUT = "-"
OPTIONAL_FILE_OPTIONS = {"report": ("--sysbench", "--json", "--csv", "--markdown"), "slap": ("--csv",)}
"""Options that default to stdout if given without a file: `--csv`, `--csv=run.csv`."""

SLAP_TRANSLATED = {"--ssl": "--ssl-mode=required", "--skip-ssl": "--ssl-mode=disabled", "-C": "--compress"}
SLAP_IGNORED = frozenset({"-T", "--debug-check", "--debug-info"})
"""Switches for the client's own statistics; `slap` always prints its own load on stderr."""
SLAP_SQL_MODE = "--sql-mode"
SLAP_REFUSED = {
    "--login-path": ("files of mysql_config_editor are not read", "use --defaults-file"),
    "--plugin-dir": ("the driver has no plugins", "leave it out"),
    "--default-auth": ("the server chooses the authentication method", "leave it out"),
}

COMPLETE_VARIABLE = "_TUIBENCH_COMPLETE"
"""Environment variable of a shell's completion request."""
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")


def normalize(
    arguments: Sequence[str], commands: Collection[str] = (), line: "SysbenchLine | None" = None
) -> list[str]:
    """The arguments with a command first, `-` for `_` in option names, and foreign syntax translated.

    `line` gets what is known about a command line of sysbench.
    """
    for place, argument in enumerate(arguments, 1):
        _check_utf8(place, argument)
    rest = [_with_hyphens(argument) for argument in arguments]
    if len(rest) == 1 and rest[0] in COMPLETION_OPTIONS:
        return [f"{rest[0]}="]
    words = _expand_help_words(rest, commands)
    return _with_stdout_default(_translate_foreign(words, commands, line or SysbenchLine()))


class SysbenchLine:
    """A command line in sysbench's form: the differences between its run here and there."""

    def __init__(self) -> None:
        self.is_sysbenchs = False
        self.deviations: list[str] = []


def _translate_foreign(arguments: Sequence[str], commands: Collection[str], line: SysbenchLine) -> list[str]:
    """Translate arguments of sysbench and mysqlslap; the translation is printed on stderr."""
    given = sysbench_syntax.read_config_file(arguments)
    line.is_sysbenchs = sysbench_syntax.is_sysbench_line(given, commands)
    meant, notes = sysbench_syntax.translate_options(
        sysbench_syntax.command_first(given, commands),
        is_sysbenchs=line.is_sysbenchs,
        deviations=line.deviations,
    )
    for note in notes:
        sys.stderr.write(f"tuibench: {note}\n")
    if meant[:1] == ["slap"]:
        return [_translate_slap(each) for each in meant if each not in SLAP_IGNORED]
    return meant


def _translate_slap(argument: str) -> str:
    """Translate an option of mysqlslap. Raises UsageError for an unsupported one."""
    name, equals, value = argument.partition("=")
    if name in SLAP_REFUSED:
        why, hint = SLAP_REFUSED[name]
        raise UsageError(f"{name}: {why}", hint)
    if name == SLAP_SQL_MODE and equals:
        return f"--init-command=SET sql_mode='{value}'"
    return SLAP_TRANSLATED.get(argument, argument)


def raise_unknown_command(name: str, known: Iterable[str], rest: Sequence[str] = ()) -> None:
    """Raises UsageError with the closest command, or with the line that runs the profile of that name."""
    from tuibench.workload import library

    if name.removesuffix(".lua") in library.available_profiles():
        raise UsageError(
            f"'{name}' is a profile, not a command", f"run it: {shlex.join(['tuibench', 'run', name, *rest])}"
        )
    near = get_close_matches(name, list(known), 1)
    raise UsageError(
        f"there is no command '{name}'", f"did you mean '{near[0]}'?" if near else "see tuibench --help"
    )


def _expand_help_words(arguments: list[str], commands: Collection[str]) -> list[str]:
    """Expand `help`, `help run`, `version`, `oltp_read_write help`, as accepted by sysbench and git."""
    match arguments:
        case ["version"]:
            return ["--version"]
        case ["help", *rest]:
            return [*rest[:1], "--help"]
        case [profile, "help"] if profile not in commands and not profile.startswith("-"):
            return ["profiles", "show", profile]
    return arguments


def _with_stdout_default(arguments: list[str]) -> list[str]:
    """Add the stdout value to options given without a file."""
    optional = OPTIONAL_FILE_OPTIONS.get(arguments[0] if arguments else "", ())
    return [f"{each}={STDOUT}" if each in optional else each for each in arguments]


def _check_utf8(place: int, argument: str) -> None:
    """Raises UsageError for bytes that are not UTF-8: they can be neither sent to the server nor recorded."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        name = argument.partition("=")[0].encode(errors="replace").decode() if argument[:2] == "--" else ""
        what = f" ({name})" if name else ""
        raise UsageError(
            f"argument {place}{what} is not valid UTF-8", "is the terminal set to UTF-8?"
        ) from None


def _with_hyphens(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value
