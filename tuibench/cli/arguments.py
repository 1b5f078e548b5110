"""Command lines as their writers mean them, before the parser sees them.

`--table_size` is `--table-size`, as sysbench has it, and `tuibench help run` is `tuibench run --help`,
and `tuibench PROFILE help`, as sysbench has it, shows the profile.
A password given on the command line is taken off it at once: the program starts itself anew without it and
hands it over through a pipe, so that `ps` shows none.
"""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tuibench.cli import sysbench_words
from tuibench.errors import UsageError

STDOUT = "-"
MAY_NAME_A_FILE = {"report": ("--sysbench", "--json", "--csv", "--markdown"), "slap": ("--csv",)}
"""Options of a command that mean stdout unless they are given a file: `--csv`, `--csv=run.csv`."""

COMPLETE = "_TUIBENCH_COMPLETE"
"""The environment variable by which a shell asks what the Tab key may offer."""
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")

PASSWORD_OPTIONS = ("--password", "--mysql-password")
PASSWORD_PIPE = "TUIBENCH_PASSWORD_FD"  # noqa: S105
"""Names the environment variable with the pipe's number; never the password itself."""


def normalised(arguments: Sequence[str], commands: Collection[str] = ()) -> list[str]:
    """The arguments with one of the commands first, `-` for `_` in option names, and in our own words.

    Restarts the program if they hold a password.
    """
    for place, argument in enumerate(arguments, 1):
        _expect_text(place, argument)
    spelt = [_spelt(argument) for argument in arguments]
    password, rest = without_password(spelt)
    if password is not None:
        _start_anew(rest, password)
    if len(rest) == 1 and rest[0] in COMPLETION_OPTIONS:
        return [f"{rest[0]}="]
    return _with_places(sysbench_words.translated(sysbench_words.ordered(_asked(rest, commands), commands)))


def without_password(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The password given in plain sight, if any, and the arguments without it."""
    password, rest = None, []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, value = argument.partition("=")
        if name in PASSWORD_OPTIONS:
            password = value if equals else next(waiting, "")
        elif argument.startswith("-p") and len(argument) > len("-p") and not argument.startswith("--"):
            password = argument[2:]
        else:
            rest.append(argument)
    return password, rest


def inherited_password() -> str | None:
    """The password that this program's first start took off its command line."""
    number = os.environ.pop(PASSWORD_PIPE, None)
    if number is None:
        return None
    with os.fdopen(int(number), "rb") as pipe:
        return pipe.read().decode()


def unknown_command(name: str, known: Iterable[str]) -> None:
    """Raises UsageError with the nearest command, or with what can be done with the profile of that name."""
    from tuibench.workload import library

    if name.removesuffix(".lua") in library.available():
        raise UsageError(f"'{name}' is a profile, not a command", f"run it: tuibench run {name}")
    near = get_close_matches(name, list(known), 1)
    raise UsageError(
        f"there is no command '{name}'", f"did you mean '{near[0]}'?" if near else "see tuibench --help"
    )


def _asked(arguments: list[str], commands: Collection[str]) -> list[str]:
    """`help`, `help run`, `version`, `oltp_read_write help`: sysbench's and git's ways to ask."""
    match arguments:
        case ["version"]:
            return ["--version"]
        case ["help", *rest]:
            return [*rest[:1], "--help"]
        case [profile, "help"] if profile not in commands and not profile.startswith("-"):
            return ["profiles", "show", profile]
    return arguments


def _with_places(arguments: list[str]) -> list[str]:
    """The arguments with the place that an option means when it names no file."""
    optional = MAY_NAME_A_FILE.get(arguments[0] if arguments else "", ())
    return [f"{each}={STDOUT}" if each in optional else each for each in arguments]


def _expect_text(place: int, argument: str) -> None:
    """Raises UsageError for bytes that are no text; they could go neither to the server nor into a record."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        name = argument.partition("=")[0].encode(errors="replace").decode() if argument[:2] == "--" else ""
        what = f" ({name})" if name else ""
        raise UsageError(
            f"argument {place}{what} is not valid UTF-8", "is the terminal set to UTF-8?"
        ) from None


def _spelt(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value


def _start_anew(arguments: Sequence[str], password: str) -> None:
    reading, writing = os.pipe()
    os.write(writing, password.encode())
    os.close(writing)
    os.set_inheritable(reading, True)
    os.environ[PASSWORD_PIPE] = str(reading)
    if password:
        sys.stderr.write("tuibench: a password on the command line is visible to others; -p asks for it\n")
        sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "tuibench", *arguments])  # noqa: S606
