"""Translation of the command lines of sysbench 0.4 to 1.0, and of tpcc-mysql.

`oltp_read_write --threads=4 run` becomes `run oltp_read_write --threads=4`. Scripts and options of older
versions get their current names (`--test=oltp --num-threads=4 run`). An option without an equivalent is
dropped, or refused with the reason. A translated command line is printed on stderr in its modern form.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from shlex import quote

from tuibench.base import files
from tuibench.base.errors import UsageError
from tuibench.model.sysbench import SYSBENCH_TESTS

SYSBENCH_VERBS = ("prepare", "prewarm", "run", "cleanup")
SCRIPT = "script"
"""Our command for those that a script has beside these."""
SYSBENCH_COMMANDS = frozenset({*SYSBENCH_VERBS, SCRIPT, "live", "probe", "sweep", "doctor", "check"})
"""Commands that take a profile with sysbench's options."""

TEST, CONFIG_FILE, OLTP = "--test", "--config-file", "oltp"
TEST_MODE, NONTRX_MODE = "--oltp-test-mode", "--oltp-nontrx-mode"
SSL, SSL_MODES = "--mysql-ssl", {"on": "required", "off": "disabled", "1": "required", "0": "disabled"}
TPCC, TPCC_TABLES = "tpcc", "--tables=1"
"""tpcc.lua can create several sets of tables, the profile `tpcc` only one."""
TPCC_SCRIPT = "tuibench ./tpcc.lua runs the script itself"
TABLE_OPTIONS = "--mysql-table-options"
VERIFY_CERTIFICATE = "--ssl-verify-server-cert"
REPORT_INTERVAL = "--report-interval"
HISTOGRAM = "--histogram"
"""A switch in sysbench, for which our parser requires a value."""
SWITCH = {"": "on", "1": "on", "true": "on", "yes": "on", "0": "off", "false": "off", "no": "off"}


PROFILES = {
    **{name: name for name in SYSBENCH_TESTS},
    "delete": "oltp_delete",
    "insert": "oltp_insert",
    "oltp": "oltp_read_write",
    "oltp_common": "oltp_read_write",
    "oltp_simple": "oltp_point_select",
    "parallel_prepare": "oltp_read_write",
    "select": "oltp_point_select",
    "tpcc": "tpcc",
    "update_index": "oltp_update_index",
    "update_non_index": "oltp_update_non_index",
}
"""The profile of each test, by the name of its script, including those of 0.4 and 0.5."""

TABLES_ONLY = "oltp_common"
"""A script that creates and drops tables, without transactions."""
PARALLEL_PREPARE = "parallel_prepare"
"""In 0.5, `run` of this script is equivalent to `prepare --threads` in 1.0."""

OTHER_TESTS = {
    "cpu": "the processor",
    "fileio": "files",
    "memory": "memory",
    "mutex": "mutexes",
    "threads": "the scheduler",
}
"""Tests of sysbench that need no database, and their subject."""

RENAMED_OPTIONS = {
    "--create-table-options": "--mysql-table-options",
    "--max-requests": "--events",
    "--max-time": "--time",
    "--mysql-ssl-ca": "--ssl-ca",
    "--mysql-ssl-cert": "--ssl-cert",
    "--mysql-ssl-key": "--ssl-key",
    "--mysql-table-engine": "--mysql-storage-engine",
    "--num-threads": "--threads",
    "--oltp-auto-inc": "--auto-inc",
    "--oltp-delete-inserts": "--delete-inserts",
    "--oltp-dist-iter": "--rand-spec-iter",
    "--oltp-dist-pct": "--rand-spec-pct",
    "--oltp-dist-res": "--rand-spec-res",
    "--oltp-dist-type": "--rand-type",
    "--oltp-distinct-ranges": "--distinct-ranges",
    "--oltp-index-updates": "--index-updates",
    "--oltp-non-index-updates": "--non-index-updates",
    "--oltp-order-ranges": "--order-ranges",
    "--oltp-point-selects": "--point-selects",
    "--oltp-range-selects": "--range-selects",
    "--oltp-range-size": "--range-size",
    "--oltp-secondary": "--secondary",
    "--oltp-simple-ranges": "--simple-ranges",
    "--oltp-skip-trx": "--skip-trx",
    "--oltp-sum-ranges": "--sum-ranges",
    "--oltp-table-size": "--table-size",
    "--oltp-tables-count": "--tables",
    "--seed-rng": "--rand-seed",
    "--tx-rate": "--rate",
}

OLD_OPTIONS = frozenset(RENAMED_OPTIONS) - {
    "--create-table-options",
    "--mysql-ssl-ca",
    "--mysql-ssl-cert",
    "--mysql-ssl-key",
}
"""Options of older versions that have another name in 1.0."""

TPCC_OPTIONS = {"--scale": "--warehouses", "--trx-level": "--isolation", "--use-fk": "--foreign-keys"}
"""Options of Percona's tpcc.lua."""
TPCC_DEFAULTS = {"--warehouses": ("--scale=100", "prepare run"), "--foreign-keys": ("--use_fk=1", "prepare")}
"""For our options whose default differs from tpcc.lua's: its option with its default, and the commands that
use it.
"""
TPCC_OWN = ("--batch", "--force-pk")
"""Options of the profile `tpcc`; for other tests the names mean something else, or nothing."""
TPCC_LEVELS = {"RR": "repeatable-read", "RC": "read-committed", "SER": "serializable"}

TEST_MODES = {"complex": "", "simple": "oltp_point_select"}
NONTRX_MODES = {
    "delete": "oltp_delete",
    "insert": "oltp_insert",
    "select": "oltp_point_select",
    "update_key": "oltp_update_index",
    "update_nokey": "oltp_update_non_index",
}
"""The profiles of 0.4's `--oltp-nontrx-mode`, which applies to `--oltp-test-mode=nontrx`."""

SWITCHED_PROFILES = {"--oltp-read-only": "oltp_read_only", "--oltp-write-only": "oltp_write_only"}
"""Switches of 0.4 and 0.5 that correspond to profiles."""

ANY = "*"
RECONNECT_HINT = "--reconnect=N logs in again after N transactions"
IGNORED_OPTIONS = {
    "--batch": ("off", "no report is left out", "leave it out"),
    "--batch-delay": (ANY, "", ""),
    "--db-driver": ("mysql", "only MySQL and MariaDB are supported", "leave it out"),
    "--enable-purge": (
        "no,off",
        "the profile tpcc deletes no old orders",
        TPCC_SCRIPT,
    ),
    "--force-pk": (ANY, "", ""),
    "--init-rng": (ANY, "", ""),
    "--luajit-cmd": ("off", "LuaJIT's compiler is off", "leave it out"),
    "--myisam-max-rows": (ANY, "", ""),
    "--mysql-debug": ("off", "the driver has no trace", "leave it out"),
    "--mysql-dry-run": ("off", "statements are always sent", "tuibench profiles show NAME lists them"),
    "--mysql-engine-trx": ("auto,yes,no", "it is auto, yes or no", "leave it out"),
    "--mysql-ssl-cipher": ("", "the cipher cannot be chosen", "--ssl-mode=required encrypts"),
    "--oltp-connect-delay": (
        "0,10000",
        "connections do not wait after they open",
        "--client-delay delays each round trip",
    ),
    "--oltp-reconnect": (
        "off",
        "connections stay open",
        RECONNECT_HINT,
    ),
    "--oltp-reconnect-mode": (
        "session",
        "connections stay open",
        RECONNECT_HINT,
    ),
    "--oltp-sp-name": ("", "no profile calls a procedure", "--sql 'CALL name(:id)' does"),
    "--oltp-table-name": ("sbtest", "the tables are called sbtest1, sbtest2, …", "leave it out"),
    "--oltp-user-delay-max": ("0", "transactions follow without think time", "--rate sets the pace"),
    "--oltp-user-delay-min": ("0", "transactions follow without think time", "--rate sets the pace"),
    "--pgsql-schema": (ANY, "", ""),
    "--rand-init": (ANY, "", ""),
    "--report-csv": ("no,off", "the report has its own form", "--csv=FILE writes one"),
    "--splittable": ("no,off", "the profile tpcc has TPC-C's transactions", TPCC_SCRIPT),
    "--thread-stack-size": (ANY, "", ""),
}
"""Options without an equivalent: accepted values (`*` for all), reason for the refusal of others, hint."""

NOTED_OPTIONS = {
    "--db-debug": "the driver has no trace",
    "--debug": "--verbosity=5 prints the most",
    "--validate": "the command check validates the tables, and no result of a run",
}
"""Switches that are ignored with a note: the text of the note."""

OWN_OPTIONS_OF_SCRIPTS = (
    "--enable-purge",
    "--force-pk",
    "--oltp-",
    "--pgsql-schema",
    "--report-csv",
    "--splittable",
    "--use-fk",
)
"""Beginnings of option names that a user's own script may define itself."""

FORCED_SHUTDOWN = "--forced-shutdown"
FORCED_SHUTDOWN_NOTE = (
    "--forced-shutdown has no effect: a run stops at --time, and waits for the transactions in progress"
)

RUN_ONLY_OPTIONS = frozenset(
    {
        "--db-ps-mode",
        "--events",
        "--histogram",
        "--isolation",
        "--mysql-ignore-errors",
        "--percentile",
        "--rand-seed",
        "--rate",
        "--reconnect",
        "--report-checkpoints",
        "--report-interval",
        "--thread-init-timeout",
        "--time",
        "--verbosity",
        "--warmup-time",
    }
)
"""Options of `run` that the other commands of sysbench accept and ignore."""


class Translation:
    """The translation of one command line: its arguments, and notes about them.

    `test` is the value of `--test`, or the path of a script. `ignored` are words without an equivalent.
    `deviations` are the differences between this run and sysbench's.
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
        """The modern form of a line, if it differs, and the words of sysbench's line that were ignored."""
        notes = list(self.notes)
        if self.is_old:
            notes.append(f"read as: tuibench {' '.join(map(quote, [self.command, *self.arguments]))}")
        if self.ignored and (self.is_old or is_sysbenchs):
            notes.append(f"ignored: {' '.join(map(quote, self.ignored))}")
        return notes

    def replace(self, arguments: Sequence[str]) -> None:
        self.is_old = True
        self.arguments = list(arguments)


def command_first(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Move the command to the front: in sysbench it follows the test's name."""
    if not arguments or arguments[0] in commands:
        return list(arguments)
    for place, word in enumerate(arguments):
        if word in SYSBENCH_VERBS:
            return [word, *arguments[:place], *arguments[place + 1 :]]
    if own := _own_command(arguments):
        return own
    if arguments[0].endswith(".lua"):
        for place, word in enumerate(arguments):
            if word in commands:
                return [word, *arguments[:place], *arguments[place + 1 :]]
    if any(each.partition("=")[0] == TEST for each in arguments):
        raise UsageError(f"{TEST} without a command", f"add one of {', '.join(SYSBENCH_VERBS)}")
    return list(arguments)


def _own_command(arguments: Sequence[str]) -> list[str]:
    """The line for a command that a script in it declares; empty without one. Raises UsageError for a script
    that cannot be loaded.
    """
    path = next((word for word in arguments if word.endswith(".lua") and Path(word).is_file()), "")
    if not path:
        return []
    from tuibench.workload import script

    known = script.declared(script.load(Path(path))).commands
    rest = [word for word in arguments if word != path]
    return next(
        (
            [SCRIPT, path, word, *rest[:place], *rest[place + 1 :]]
            for place, word in enumerate(rest)
            if word in known
        ),
        [],
    )


def translate_options(
    arguments: Sequence[str], *, is_sysbenchs: bool = False, deviations: list[str] | None = None
) -> tuple[list[str], list[str]]:
    """Translate the arguments of a command; returns them, and notes for the user.

    A line that `is_sysbenchs` has the command after the test, and gets sysbench's defaults where they differ.
    The differences that remain are appended to `deviations`. Raises UsageError for unsupported arguments.
    """
    if not arguments or arguments[0] not in SYSBENCH_COMMANDS:
        return list(arguments), []
    line = Translation(arguments[0], arguments[1:])
    _name_test(line)
    _apply_modes(line)
    pairs = zip(line.arguments, [*line.arguments, ""][1:], strict=True)
    line.arguments = [new for each, after in pairs if (new := _translate_option(each, after, line))]
    _note_other_defaults(line)
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
    """Insert the profile that corresponds to `--test` or to the path of a script as the first argument."""
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
    if script == TABLES_ONLY and line.command not in ("prepare", "prewarm", "cleanup"):
        raise UsageError(f"{test} has no transactions", "run one of the tests, such as oltp_read_write")
    if script == PARALLEL_PREPARE and line.command == "run":
        line.command = "prepare"
    return PROFILES.get(script, test)


def _script(path: str) -> str:
    return PurePath(path).name.removesuffix(".lua")


def _is_known_script(word: str) -> bool:
    is_script = word.endswith(".lua") or word == TABLES_ONLY
    return is_script and not word.startswith("-") and _script(word) in PROFILES and not _is_own_script(word)


def _is_own_script(word: str) -> bool:
    """True for the path of a user's script that has the name of one of sysbench's scripts."""
    path = Path(word)
    return "/" in word and path.is_file() and path.resolve().parent.name != "sysbench"


def _refuse_other_tests(words: Sequence[str]) -> None:
    name = next((word for word in words[:1] if word in OTHER_TESTS), "")
    if name:
        raise UsageError(
            f"'{name}' measures {OTHER_TESTS[name]}, and tuibench measures MySQL and MariaDB only",
            f"sysbench itself runs it: sysbench {name} run",
        )


def _apply_modes(line: Translation) -> None:
    """Replace the profile by the one that corresponds to the modes of the test `oltp` in 0.4 and 0.5."""
    given, rest = dict[str, str](), list[str]()
    for word in line.arguments:
        name, _, value = word.partition("=")
        if name in SWITCHED_PROFILES or name in (TEST_MODE, NONTRX_MODE):
            given[name] = value.lower()
        else:
            rest.append(word)
    if given:
        profile = _profile_of_modes(line.test, given)
        line.replace([profile, *rest[1:]] if profile else rest)


def _profile_of_modes(test: str, given: Mapping[str, str]) -> str:
    """The profile that corresponds to these modes; empty for the test's own profile.

    The built-in test of 0.4 has all modes. Of the scripts of 0.5, oltp.lua reads the switches of
    `SWITCHED_PROFILES`; the others ignore all modes.
    """
    is_script = test.endswith(".lua") or "/" in test
    if is_script and _script(test) != OLTP:
        return ""
    mode = "" if is_script else _mode_profile(given.get(TEST_MODE, ""), given.get(NONTRX_MODE, "select"))
    on = [name for name, value in given.items() if SWITCH.get(value, value) == "on"]
    switched = [SWITCHED_PROFILES[name] for name in on if name in SWITCHED_PROFILES]
    return mode or next(reversed(switched), "")


def _mode_profile(mode: str, query: str) -> str:
    if mode == "nontrx":
        mode, modes, name = query, NONTRX_MODES, NONTRX_MODE
    else:
        mode, modes, name = mode or "complex", TEST_MODES, TEST_MODE
    if mode not in modes:
        raise UsageError(f"{name}={mode} is unknown", f"it is one of {', '.join(modes)}")
    return modes[mode]


def _note_other_defaults(line: Translation) -> None:
    """Add a note about defaults in which tpcc.lua and the profile differ."""
    if not line.test.endswith(".lua") or line.arguments[0] != TPCC:
        return
    for option, (default, commands) in TPCC_DEFAULTS.items():
        if line.command in commands and not _has(line, option):
            line.notes.append(f"tpcc.lua's own default is {default}: add it for the same here")
            line.deviations.append(line.notes[-1])


def _translate_option(argument: str, after: str, line: Translation) -> str:
    """Translate one argument; empty if it has no effect."""
    name, equals, value = argument.partition("=")
    if line.command == "probe" and name == "--max-time":
        return argument
    is_script = any(map(_is_own_script, line.arguments))
    if is_script and name.replace("_", "-").startswith(OWN_OPTIONS_OF_SCRIPTS):
        return argument
    if line.arguments[0] == TPCC and argument == TPCC_TABLES:
        line.ignored.append(argument)
        return ""
    if line.arguments[0] == TPCC and name in TPCC_OPTIONS:
        line.is_old = True
        return f"{TPCC_OPTIONS[name]}{equals}{TPCC_LEVELS.get(value, value)}"
    if name in TPCC_OWN and TPCC in line.arguments:
        return argument
    if line.arguments[0] == TPCC and name == "--tables":
        raise UsageError(
            f"{argument}: the profile tpcc has one set of tables",
            f"--warehouses=N makes it larger; {TPCC_SCRIPT}",
        )
    if line.arguments[0] == TPCC and name == TABLE_OPTIONS:
        if value and line.command == "prepare":
            raise UsageError(f"{name}: the profile tpcc creates its tables without options", TPCC_SCRIPT)
        line.ignored.append(argument)
        return ""
    if name in RENAMED_OPTIONS:
        line.is_old |= name in OLD_OPTIONS
        return RENAMED_OPTIONS[name] + equals + value
    if name in (SSL, "--ssl"):
        mode = value.lower() if equals else "on"
        return f"--ssl-mode={SSL_MODES.get(mode, mode)}"
    if name == VERIFY_CERTIFICATE:
        return "--ssl-mode=verify-identity" if SWITCH.get(value.lower()) == "on" else ""
    if argument == HISTOGRAM and after not in ("on", "off"):
        return f"{HISTOGRAM}=on"
    if name == FORCED_SHUTDOWN:
        if value not in ("", "off"):
            line.notes.append(FORCED_SHUTDOWN_NOTE)
            line.deviations.append(FORCED_SHUTDOWN_NOTE)
        return ""
    if name in NOTED_OPTIONS:
        if SWITCH.get(value.lower(), value) != "off":
            line.notes.append(f"{name} has no effect: {NOTED_OPTIONS[name]}")
            line.deviations.append(line.notes[-1])
        return ""
    if name not in IGNORED_OPTIONS:
        return argument
    line.ignored.append(argument)
    return _ignored(name, value, equals, line)


def _ignored(name: str, value: str, equals: str, line: Translation) -> str:
    allowed, why, hint = IGNORED_OPTIONS[name]
    accepted = allowed.split(",")
    is_accepted = bool(equals) and (value in accepted or SWITCH.get(value.lower()) in accepted)
    if not is_accepted and allowed != ANY:
        raise UsageError(f"{name}: {why}", hint)
    if allowed == ANY:
        line.deviations.append(f"{name} is ignored")
    return ""


def _drop_run_options(line: Translation) -> None:
    """Drop options that only `run` uses, as sysbench does."""
    if line.command not in ("prepare", "prewarm", "cleanup", SCRIPT):
        return
    dropped = RUN_ONLY_OPTIONS | ({"--threads"} if line.command in ("prewarm", "cleanup") else set())
    kept: list[str] = []
    waiting = iter(enumerate(line.arguments))
    for place, word in waiting:
        name, equals, _ = word.partition("=")
        if name not in dropped:
            kept.append(word)
        elif not equals and not [*line.arguments, "-"][place + 1].startswith("-"):
            next(waiting)
    line.arguments = kept


TPCC_MYSQL = {"tpcc_load": ("prepare", "--create-database"), "tpcc_start": ("run", "")}
"""The programs of tpcc-mysql: our command, and an additional option."""

TPCC_MYSQL_OPTIONS = {
    "-h": "-h",
    "-P": "-P",
    "-d": "-D",
    "-u": "-u",
    "-S": "-S",
    "-w": "--warehouses=",
    "-c": "--threads=",
    "-r": "--warmup-time=",
    "-l": "--time=",
    "-i": "--report-interval=",
}
"""Our options for those of tpcc-mysql; an empty one is left out: a password, files of reports."""


def tpcc_mysql_line(program: str, arguments: Sequence[str]) -> str:
    """The equivalent of a command line of tpcc-mysql; empty for another program."""
    name = PurePath(program).name
    if name not in TPCC_MYSQL:
        return ""
    command, besides = TPCC_MYSQL[name]
    words = ["tuibench", command, TPCC]
    waiting = iter(arguments)
    for word in waiting:
        option, value = word[:2], word[2:]
        if not word.startswith("-"):
            continue
        value = value or next(waiting, "")
        ours = TPCC_MYSQL_OPTIONS.get(option, "")
        if option == "-p":
            words.append("-p")
        elif ours:
            words += [f"{ours}{value}"] if ours.endswith("=") else [ours, value]
    return " ".join(map(quote, [*words, *filter(None, [besides])]))


MYSQLSLAP_OPTIONS = frozenset(
    f"--{name}"
    for name in """
    auto-generate-sql auto-generate-sql-add-autoincrement auto-generate-sql-execute-number
    auto-generate-sql-guid-primary auto-generate-sql-load-type auto-generate-sql-secondary-indexes
    auto-generate-sql-unique-query-number auto-generate-sql-unique-write-number auto-generate-sql-write-number
    commit compress concurrency create create-schema csv debug-check debug-info default-auth
    default-character-set delimiter detach engine help host init-command iterations login-path no-drop
    number-char-cols number-int-cols number-of-queries only-print password plugin-dir port post-query
    post-system pre-query pre-system protocol query silent socket sql-mode ssl-ca ssl-cert ssl-key
    ssl-mode user verbose version
    """.split()  # noqa: SIM905
)


def unabbreviated(argument: str) -> str:
    """The full name of an option of mysqlslap, which accepts each unique prefix of a name."""
    name, equals, value = argument.partition("=")
    found = [each for each in MYSQLSLAP_OPTIONS if each.startswith(name)]
    is_short = len(name) > len("--x") and name not in MYSQLSLAP_OPTIONS and len(found) == 1
    return f"{found[0]}{equals}{value}" if is_short else argument
