"""Translation of a command line before it is parsed.

As in sysbench, `--table_size` is equivalent to `--table-size`, and `tuibench PROFILE help` shows the profile.
`tuibench help run` is equivalent to `tuibench run --help`. `tuibench slap` accepts mysqlslap's options.
Passwords have already been removed, see `credentials`.
"""

import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tuibench.base.errors import UsageError
from tuibench.cli import sysbench_syntax

STDOUT = "-"
OPTIONAL_FILE_OPTIONS = {"report": ("--sysbench", "--json", "--csv", "--markdown"), "slap": ("--csv",)}
"""Options whose file may be omitted, by command; the default is stdout: `--csv`, `--csv=run.csv`."""

SLAP_TRANSLATED = {"--ssl": "--ssl-mode=required", "--skip-ssl": "--ssl-mode=disabled", "-C": "--compress"}
SLAP_IGNORED = frozenset({"-T", "--debug-check", "--debug-info"})
"""Switches of mysqlslap for statistics of the client; `slap` always prints its CPU usage on stderr."""
SLAP_SQL_MODE = "--sql-mode"
SLAP_REFUSED = {
    "--plugin-dir": ("the driver has no plugins", "leave it out"),
    "--default-auth": ("the server chooses the authentication method", "leave it out"),
}

COMPLETE_VARIABLE = "_TUIBENCH_COMPLETE"
"""Environment variable of a shell's completion request."""
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")


def normalize(
    arguments: Sequence[str], commands: Collection[str] = (), line: "SysbenchLine | None" = None
) -> list[str]:
    """The arguments with the command first, `-` for `_` in option names, and foreign syntax translated.

    `line` gets the properties of a command line in sysbench's form.
    """
    for place, argument in enumerate(arguments, 1):
        # Bytes that are not UTF-8 can be neither sent to the server nor recorded.
        try:
            argument.encode()
        except UnicodeEncodeError:
            name = (
                argument.partition("=")[0].encode(errors="replace").decode() if argument[:2] == "--" else ""
            )
            what = f" ({name})" if name else ""
            raise UsageError(
                f"argument {place}{what} is not valid UTF-8", "is the terminal set to UTF-8?"
            ) from None
    rest = [_with_hyphens(argument) for argument in arguments]
    if len(rest) == 1 and rest[0] in COMPLETION_OPTIONS:
        return [f"{rest[0]}="]
    words = _expand_help_words(rest, commands)
    return _with_stdout_default(_translate_foreign(words, commands, line or SysbenchLine()))


class SysbenchLine:
    """A command line in sysbench's form, with the differences between its run here and in sysbench."""

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
        full = map(sysbench_syntax.unabbreviated, meant)
        return [
            translated for each in full if each not in SLAP_IGNORED and (translated := _translate_slap(each))
        ]
    return meant


def _translate_slap(argument: str) -> str:
    """Translate an option of mysqlslap. Raises UsageError for an unsupported one."""
    name, equals, value = argument.partition("=")
    if name in SLAP_REFUSED:
        why, hint = SLAP_REFUSED[name]
        raise UsageError(f"{name}: {why}", hint)
    if name == sysbench_syntax.VERIFY_CERTIFICATE:
        return "" if value in ("0", "off") else "--ssl-mode=verify-identity"
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
    if name.endswith(".lua"):
        known = ("run", "prepare", "cleanup", "live")
        raise UsageError(
            f"{name} without a command of it",
            f"such as {', '.join(known)}; `tuibench profiles show {name}` lists its own",
        )
    if line := sysbench_syntax.tpcc_mysql_line(name, rest):
        raise UsageError(f"'{name}' is a program of tpcc-mysql", f"here: {line}")
    near = get_close_matches(name, list(known), 1)
    raise UsageError(
        f"there is no command '{name}'", f"did you mean '{near[0]}'?" if near else "see tuibench --help"
    )


def _expand_help_words(arguments: list[str], commands: Collection[str]) -> list[str]:
    """Expand `help`, `help run`, `version`, `oltp_read_write help`, as accepted by sysbench and git."""
    match arguments:
        case ["version"] | ["-V"] | ["slap", "-V" | "--version"]:
            return ["--version"]
        case ["help", *rest]:
            return [*rest[:1], "--help"]
        case [profile, "help"] if profile not in commands and not profile.startswith("-"):
            return ["profiles", "show", profile]
    return arguments


def _with_stdout_default(arguments: list[str]) -> list[str]:
    """The arguments with stdout as the value of options that were given without a file."""
    optional = OPTIONAL_FILE_OPTIONS.get(arguments[0] if arguments else "", ())
    return [f"{each}={STDOUT}" if each in optional else each for each in arguments]


def _with_hyphens(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value
