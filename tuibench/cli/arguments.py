"""Translation of a command line before it is parsed, and the layout of a command's help.

As in sysbench, `--table_size` is equivalent to `--table-size`, and `tuibench PROFILE help` shows the profile.
`tuibench help run` is equivalent to `tuibench run --help`. `tuibench slap` accepts mysqlslap's options.
Passwords have already been removed, see `credentials`.
"""

import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

import click

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


NAME_COLUMN_WIDTH = 34
"""Maximum width of option names; the text of longer ones starts on the next line."""

OPTIONS, OTHER_OPTIONS = "Options", "Other"
SECTION_ORDER = (
    "Arguments",
    OPTIONS,
    "Load",
    "Connections",
    "Transactions",
    "Several hosts",
    "Output",
    "Server",
    "Your own SQL",
    "Private servers",
    "A/B trial",
    "Screening",
    "Profiles of real traffic",
    "In the background",
    "Screen",
    "Scene",
    OTHER_OPTIONS,
)
"""Order of the sections in the help. A command's own options come first, common options last."""

COMMON_OPTIONS = frozenset({"--help", "--run-dir", "--yes-this-server"})

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": (
        "",
        "--scene durability --by-space",
        "--profile tpcc --warehouses=2",
        "--headless --time=10",
        "--ramp 1..64/60s",
        "--server=/usr/sbin/mysqld",
        "--headless --cpus=1 --memory=1G",
    ),
    "live": (
        "oltp_read_write --tables=4 --table-size=100000 --threads=16 -h db1 -u app -p",
        "oltp_write_only --plan 8:30s,16:30s,64:1m -h db1 -u app -p",
    ),
    "run": (
        "oltp_read_write --tables=4 --table-size=100000 --threads=16 --time=60 -h db1 -u app -p",
        "oltp_read_write --rate=500 --time=60 --json=result.json --fail-if 'p95>50ms'",
        "oltp_write_only --threads=16 --ab innodb_flush_log_at_trx_commit=1,0",
        "oltp_write_only --ab log_bin=ON,OFF --server=mariadbd --threads=8",
        "--sql 'SELECT c FROM sbtest1 WHERE id=:id' --sql-param id=1..100000",
        "oltp_read_only --threads=512 --cluster ssh:load1,load2 -h db1 -u app -p",
    ),
    "sweep": (
        "oltp_write_only --threads=4,8,16,32 --preset=durable,unsafe --repeat=3 --time=30",
        "oltp_read_only --threads=8,64 --range-size=10,1000 --format=html --out=sweep.html",
        "oltp_read_write --server=mariadbd --cpus=1,2 --memory=1G,4G --threads=4,16",
        "oltp_write_only --server=mariadbd --setting innodb_flush_method=fsync,O_DIRECT --repeat=5",
        "--show DIR --format=markdown",
    ),
    "versions": (
        "mariadb:/usr/sbin/mariadbd mysql:/usr/local/mysql/bin/mysqld --starts=5",
        "old:/opt/8.0/bin/mysqld new:/opt/8.4/bin/mysqld --profile=tpcc --warehouses=2 --threads=1,8",
        "/opt/8.0.{30..45}/bin/mysqld --bisect --first-bad --profile=oltp_point_select",
        "--show DIR --format=markdown",
    ),
    "crash": (
        "oltp_write_only --tables=4 --table-size=100000",
        "oltp_read_write --setting sync_binlog=1,0 --repeat=10 --server=/usr/sbin/mysqld",
        "oltp_write_only --power",
        "tpcc --warehouses=2 --threads=16 --format=html --out=crash.html",
    ),
    "agent": ("",),
    "cluster": (
        "check --cluster ssh:load1,load2 -h db1 -u app -p",
        "check --cluster 'ssh:load-{1..8}' --hosts-only",
    ),
    "slap": ("-a --auto-generate-sql-add-autoincrement --concurrency=16,32 --number-of-queries=10000",),
    "bundle": ("latest -o run.tar.gz", "20261121-1101-oltp_read_write -o sweep.tar.gz"),
    "reproduce": ("sweep.tar.gz", "run.tar.gz --server=/opt/mysql/bin/mysqld --starts=5"),
    "probe": ("oltp_read_write --slo 'p95<20ms' -h db1 -u app -p", "oltp_read_only --by rate --threads=64"),
    "tune": (
        "oltp_write_only --threads=8 --budget 30m -h db1 -u app -p",
        "oltp_read_write --only durability,flushing --allow-risk --slo 'p95<20ms'",
    ),
    "prepare": (
        "oltp_read_write --tables=4 --table-size=100000 --create-database -h db1 -u app -p",
        "tpcc --warehouses=10 --threads=8",
    ),
    "prewarm": ("oltp_read_write --tables=4 -h db1 -u app -p",),
    "cleanup": ("oltp_read_write --tables=4 -h db1 -u app -p", "tpcc"),
    "script": ("./my.lua makedb --threads=4 -h db1 -u app -p",),
    "check": ("tpcc", "sbtest --tables=4 --table-size=100000"),
    "profiles": (
        "",
        "show oltp_read_write",
        "check ./mine.toml",
        "from-slow-log /var/lib/mysql/slow.log --out mine.toml",
        "from-digest -D shop --seconds=60 --out mine.toml",
        "from-lua ./my.lua --tables=4 -D sbtest --out mine.toml",
    ),
    "watch": (
        "-h db1 -u app -p",
        "-h db1 -u app -p --time=60 --format=json",
        "-h db1 -u app -p --ab innodb_flush_log_at_trx_commit=1,2 --until ±5%",
    ),
    "doctor": ("oltp_read_write --tables=4 --table-size=100000 --threads=64 -h db1 -u app -p", "--disk"),
    "settings": ("list -h db1 -u app -p",),
    "sessions": ("", "--format json"),
    "attach": ("", "1132 --read-only"),
    "web": ("", "1132 --port 8080"),
    "ctl": ("threads 64", "1132 set sync_binlog=0", "1132 mark 'backup begins'", "stop --wait --format json"),
    "runs": ("", "show latest", "remove 20261121-0912"),
    "replay": ("latest --speed 4",),
    "report": ("latest", "latest --html run.html", "latest --markdown --csv=run.csv"),
    "compare": ("20261121-0720 20261121-0815 --fail-if 'tps<-5%'",),
    "flame": ("latest", "latest --effect 1", "latest --effect 1 --format html"),
    "history": (
        "oltp_read_write",
        "oltp_read_write --since 20261121-0720",
        "oltp_read_write --chart history.svg",
    ),
    "restore": ("--dry-run", "-p"),
}


UNBROKEN_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class WholeNames(click.HelpFormatter):
    """A formatter that breaks lines between words only; click also breaks after the hyphens of an option."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", UNBROKEN_HYPHEN))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = NAME_COLUMN_WIDTH, col_spacing: int = 2
    ) -> None:
        whole = [(name, text.replace("-", UNBROKEN_HYPHEN)) for name, text in rows]
        super().write_dl(whole, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN_HYPHEN, "-")


class HelpContext(click.Context):
    """The context of every command, with this formatter."""

    formatter_class = WholeNames


class SectionedCommand(click.Command):
    """A command whose help is divided into sections and ends with examples."""

    context_class = HelpContext

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", *(_argument_usage(each) for each in self._arguments())]

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if found := [(_argument_usage(each), each.help or "") for each in self._arguments()]:
            with formatter.section("Arguments"):
                formatter.write_dl(found)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                sections.setdefault(_section_of(each), []).append(record)
        if set(sections) <= {OPTIONS, OTHER_OPTIONS}:
            sections[OPTIONS] = sections.get(OPTIONS, []) + sections.pop(OTHER_OPTIONS)
        for title in sorted(sections, key=SECTION_ORDER.index):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if lines := example_lines(self.name or ""):
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in lines))

    def _arguments(self) -> list[click.Argument]:
        return [each for each in self.params if isinstance(each, click.Argument)]


def example_lines(command: str) -> Sequence[str]:
    return [f"tuibench {command} {line}".rstrip() for line in EXAMPLES.get(command, ())]


def _section_of(option: click.Option) -> str:
    if not COMMON_OPTIONS.isdisjoint(option.opts):
        return OTHER_OPTIONS
    return getattr(option, "section", "") or OPTIONS


def _argument_usage(argument: click.Argument) -> str:
    word = argument.metavar or (argument.name or "").upper()
    return word if argument.required or word.startswith("[") else f"[{word}]"
