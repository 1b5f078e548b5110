"""Translation of sysbench 0.4 to 1.0 command lines.

`oltp_read_write --threads=4 run` becomes `run oltp_read_write --threads=4`; scripts and old options get their
current names (`--test=oltp --num-threads=4 run`), and options without an equivalent are dropped, or refused
with the reason. A translated command line is printed on stderr in its modern form.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from shlex import quote

from tuibench import files
from tuibench.cli.parsing import sysbench_options as known
from tuibench.errors import UsageError

SYSBENCH_VERBS = ("prepare", "prewarm", "run", "cleanup")
SYSBENCH_COMMANDS = frozenset({*SYSBENCH_VERBS, "live", "probe", "sweep", "doctor", "check"})
"""Commands that take a profile with sysbench's options."""

TEST, CONFIG_FILE, OLTP = "--test", "--config-file", "oltp"
TEST_MODE, NONTRX_MODE = "--oltp-test-mode", "--oltp-nontrx-mode"
SSL, SSL_MODES = "--mysql-ssl", {"on": "required", "off": "disabled"}
TPCC, TPCC_TABLES = "tpcc", "--tables=1"
"""tpcc.lua can create several sets of tables; the profile has one."""
REPORT_INTERVAL = "--report-interval"
HISTOGRAM = "--histogram"
"""A switch in sysbench; our parser requires a value for it. Switches of profiles need none."""
SWITCH = {"": "on", "1": "on", "true": "on", "yes": "on", "0": "off", "false": "off", "no": "off"}


class Translation:
    """One command line: its translated arguments, and notes about them.

    `test` is the value of `--test`, or the path of a script. `ignored` are words without an equivalent;
    `deviations` say how the run differs from sysbench's.
    """

    def __init__(self, command: str, arguments: Sequence[str]) -> None:
        self.command = command
        self.arguments = list(arguments)
        self.notes: list[str] = []
        self.ignored: list[str] = []
        self.deviations: list[str] = []
        self.is_old = False
        self.test = ""

    def notes_for_user(self, *, is_sysbenchs: bool) -> list[str]:
        """The modern form of a translated line, and what was ignored in a line of sysbench."""
        notes = list(self.notes)
        if self.is_old:
            notes.append(f"read as: tuibench {' '.join(map(quote, [self.command, *self.arguments]))}")
        if self.ignored and (self.is_old or is_sysbenchs):
            notes.append(f"ignored: {' '.join(map(quote, self.ignored))}")
        return notes

    def replace(self, arguments: Sequence[str]) -> None:
        """Replace the arguments."""
        self.is_old = True
        self.arguments = list(arguments)


def command_first(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Move the command to the front: in sysbench it follows the test's name."""
    if not arguments or arguments[0] in commands:
        return list(arguments)
    for place, word in enumerate(arguments):
        if word in SYSBENCH_VERBS:
            return [word, *arguments[:place], *arguments[place + 1 :]]
    if any(each.partition("=")[0] == TEST for each in arguments):
        raise UsageError(f"{TEST} without a command", f"add one of {', '.join(SYSBENCH_VERBS)}")
    return list(arguments)


def translate_options(
    arguments: Sequence[str], *, is_sysbenchs: bool = False, deviations: list[str] | None = None
) -> tuple[list[str], list[str]]:
    """Translate the arguments of a command; returns them with notes for the user.

    A line that `is_sysbenchs` has the command after the test, and sysbench's defaults where ours differ;
    `deviations` gets what it does otherwise. Raises UsageError for unsupported arguments.
    """
    if not arguments or arguments[0] not in SYSBENCH_COMMANDS:
        return list(arguments), []
    line = Translation(arguments[0], arguments[1:])
    _name_test(line)
    _apply_modes(line)
    _rename_options(line)
    _drop_run_options(line)
    if deviations is not None and (line.is_old or is_sysbenchs):
        deviations += line.deviations
    if is_sysbenchs and line.command == "run" and not _has(line, REPORT_INTERVAL):
        line.arguments.append(f"{REPORT_INTERVAL}=0")
    return [line.command, *line.arguments], line.notes_for_user(is_sysbenchs=is_sysbenchs)


def is_sysbench_line(arguments: Sequence[str], commands: Collection[str]) -> bool:
    """True if the command follows the test, as in sysbench."""
    return command_first(arguments, commands) != list(arguments)


def _has(line: Translation, option: str) -> bool:
    return any(word.partition("=")[0] == option for word in line.arguments)


def read_config_file(arguments: Sequence[str]) -> list[str]:
    """Prepend the options of `--config-file`, so that the other arguments take precedence."""
    for place, argument in enumerate(arguments):
        name, equals, path = argument.partition("=")
        if name == CONFIG_FILE:
            if not equals:
                path = arguments[place + 1] if place + 1 < len(arguments) else ""
            rest = [*arguments[:place], *arguments[place + (1 if equals else 2) :]]
            return [*_config_options(path), *rest]
    return list(arguments)


def _config_options(path: str) -> Iterator[str]:
    try:
        lines = [line.strip() for line in files.read_text(Path(path), pipes=True).split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{CONFIG_FILE}: cannot read '{path}': {error}") from error
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or " " in name:
            raise UsageError(
                f"{CONFIG_FILE}: {path}, line {number}: '{line}' is not an option", "write name=value"
            )
        yield f"--{name.removeprefix('--').replace('_', '-')}{equals}{value}"


def _name_test(line: Translation) -> None:
    """Put the profile first that corresponds to `--test` or to the path of a script."""
    rest: list[str] = []
    test = ""
    waiting = iter(line.arguments)
    for word in waiting:
        name, equals, value = word.partition("=")
        if name == TEST:
            test = value if equals else next(waiting, "")
        elif not test and _is_known_script(word):
            test = word
        else:
            rest.append(word)
    if not test:
        _refuse_other_tests(line.arguments)
        return
    _refuse_other_tests([test])
    line.test = test
    line.replace([_profile_of(test, line), *rest])


def _profile_of(test: str, line: Translation) -> str:
    script = _script(test)
    if script == known.TABLES_ONLY and line.command not in ("prepare", "prewarm", "cleanup"):
        raise UsageError(f"{test} has no transactions", "run one of the tests, such as oltp_read_write")
    if script == known.PARALLEL_PREPARE and line.command == "run":
        line.command = "prepare"
    return known.PROFILES.get(script, test)


def _script(path: str) -> str:
    return PurePath(path).name.removesuffix(".lua")


def _is_known_script(word: str) -> bool:
    is_script = word.endswith(".lua") or word == known.TABLES_ONLY
    return is_script and not word.startswith("-") and _script(word) in known.PROFILES


def _refuse_other_tests(words: Sequence[str]) -> None:
    name = next((word for word in words[:1] if word in known.OTHER_TESTS), "")
    if name:
        raise UsageError(
            f"'{name}' measures {known.OTHER_TESTS[name]}, and tuibench measures MySQL and MariaDB only",
            f"sysbench itself runs it: sysbench {name} run",
        )


def _apply_modes(line: Translation) -> None:
    """Replace the profile by the one that corresponds to the modes of `oltp` in 0.4 and 0.5."""
    given, rest = dict[str, str](), list[str]()
    for word in line.arguments:
        name, _, value = word.partition("=")
        if name in known.SWITCHED_PROFILES or name in (TEST_MODE, NONTRX_MODE):
            given[name] = value.lower()
        else:
            rest.append(word)
    if given:
        profile = _profile_of_modes(line.test, given)
        line.replace([profile, *rest[1:]] if profile else rest)


def _profile_of_modes(test: str, given: Mapping[str, str]) -> str:
    """Profile of these modes; empty for the test's own one.

    The modes are those of 0.4's built-in test. Of the scripts of 0.5, oltp.lua reads the switches; the others
    ignore all of them.
    """
    is_script = test.endswith(".lua") or "/" in test
    if is_script and _script(test) != OLTP:
        return ""
    mode = "" if is_script else _mode_profile(given.get(TEST_MODE, ""), given.get(NONTRX_MODE, "select"))
    on = [name for name, value in given.items() if SWITCH.get(value, value) == "on"]
    switched = [known.SWITCHED_PROFILES[name] for name in on if name in known.SWITCHED_PROFILES]
    return mode or next(reversed(switched), "")


def _mode_profile(mode: str, query: str) -> str:
    if mode == "nontrx":
        mode, modes, name = query, known.NONTRX_MODES, NONTRX_MODE
    else:
        mode, modes, name = mode or "complex", known.TEST_MODES, TEST_MODE
    if mode not in modes:
        raise UsageError(f"{name}={mode} is unknown", f"it is one of {', '.join(modes)}")
    return modes[mode]


def _rename_options(line: Translation) -> None:
    pairs = zip(line.arguments, [*line.arguments, ""][1:], strict=True)
    line.arguments = [new for each, after in pairs if (new := _translate_option(each, after, line))]


def _translate_option(argument: str, after: str, line: Translation) -> str:
    """Translate one argument; empty if it has no effect."""
    name, equals, value = argument.partition("=")
    if line.command == "probe" and name == "--max-time":
        return argument
    if line.arguments[0] == TPCC and argument == TPCC_TABLES:
        line.ignored.append(argument)
        return ""
    if line.arguments[0] == TPCC and name in known.TPCC_OPTIONS:
        line.is_old = True
        return f"{known.TPCC_OPTIONS[name]}{equals}{known.TPCC_LEVELS.get(value, value)}"
    if name in known.RENAMED_OPTIONS:
        line.is_old |= name in known.OLD_OPTIONS
        return known.RENAMED_OPTIONS[name] + equals + value
    if name == SSL:
        mode = value.lower() if equals else "on"
        return f"--ssl-mode={SSL_MODES.get(mode, mode)}"
    if argument == HISTOGRAM and after not in ("on", "off"):
        return f"{HISTOGRAM}=on"
    if name == known.FORCED_SHUTDOWN:
        if value not in ("", "off"):
            line.notes.append(known.FORCED_SHUTDOWN_NOTE)
            line.deviations.append(known.FORCED_SHUTDOWN_NOTE)
        return ""
    if name not in known.IGNORED_OPTIONS:
        return argument
    line.ignored.append(argument)
    return _ignored(name, value, equals, line)


def _ignored(name: str, value: str, equals: str, line: Translation) -> str:
    allowed, why, hint = known.IGNORED_OPTIONS[name]
    accepted = allowed.split(",")
    is_accepted = bool(equals) and (value in accepted or SWITCH.get(value.lower()) in accepted)
    if not is_accepted and allowed != known.ANY:
        raise UsageError(f"{name}: {why}", hint)
    if allowed == known.ANY:
        line.deviations.append(f"{name} is ignored")
    return ""


def _drop_run_options(line: Translation) -> None:
    """Drop options that only `run` uses, as sysbench does."""
    if line.command not in ("prepare", "prewarm", "cleanup"):
        return
    dropped = known.RUN_ONLY_OPTIONS | ({"--threads"} if line.command != "prepare" else set())
    kept: list[str] = []
    waiting = iter(enumerate(line.arguments))
    for place, word in waiting:
        name, equals, _ = word.partition("=")
        if name not in dropped:
            kept.append(word)
        elif not equals and not [*line.arguments, "-"][place + 1].startswith("-"):
            next(waiting)
    line.arguments = kept
