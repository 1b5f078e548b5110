"""The layout of a command's help: sections in one order, then examples."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from tuibench.cli.parameters import adopt

NAME_COLUMN_WIDTH = 34
"""Maximum width of option names; the text of longer ones starts on the next line."""

OPTIONS, OTHER_OPTIONS = "Options", "Other"
SECTION_ORDER = (
    "Arguments",
    OPTIONS,
    "Load",
    "Callers",
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


def unbroken(text: str) -> str:
    """The text with hyphens at which a line is not broken; `SectionedCommand` writes them as hyphens."""
    return text.replace("-", UNBROKEN_HYPHEN)


def with_hyphens(text: str) -> str:
    """The text of `unbroken` as it was."""
    return text.replace(UNBROKEN_HYPHEN, "-")


def write_rows(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write names and their texts as a section of the help."""
    with formatter.section(title):
        formatter.write_dl([(name, unbroken(text)) for name, text in rows], NAME_COLUMN_WIDTH)


class SectionedCommand(TyperCommand):
    """A command whose help is divided into sections and ends with examples."""

    def get_help(self, ctx: Any) -> str:
        return with_hyphens(super().get_help(ctx))

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        adopt([option] if option is not None else [])
        return option

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The names in the order of their declaration; typer returns those of a set."""
        names = super().get_help_option_names(ctx)
        return [name for name in ctx.help_option_names if name in names]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        return option_items(self, ctx, incomplete) if incomplete.startswith("-") else []

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_argument_usage(each) for each in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        if found := [(_argument_usage(each), each.help or "") for each in self._arguments()]:
            write_rows(formatter, "Arguments", found)
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, TyperOption) and (record := each.get_help_record(ctx)):
                sections.setdefault(_section_of(each), []).append(record)
        if set(sections) <= {OPTIONS, OTHER_OPTIONS}:
            sections[OPTIONS] = sections.get(OPTIONS, []) + sections.pop(OTHER_OPTIONS)
        for title in sorted(sections, key=SECTION_ORDER.index):
            write_rows(formatter, title, sections[title])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if lines := example_lines(self.name or ""):
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in lines))

    def _arguments(self) -> list[TyperArgument]:
        return [each for each in self.params if isinstance(each, TyperArgument)]


def option_items(command: TyperCommand | TyperGroup, context: Any, unfinished: str) -> list[Any]:
    """The long names of options that begin so: the first of each, or the others if there is none."""
    from typer._click.shell_completion import CompletionItem

    first: list[CompletionItem] = []
    others: list[CompletionItem] = []
    for each in command.get_params(context):
        if isinstance(each, TyperOption) and not each.hidden:
            names = [name for name in each.opts if name.startswith("--")]
            for place, name in enumerate(names):
                is_alone = each.is_flag or each.count
                found = CompletionItem(name if is_alone else f"{name}=", help=each.help)
                (others if place else first).append(found)
    wanted = [item for item in first if item.value.startswith(unfinished)]
    return wanted or [item for item in others if item.value.startswith(unfinished)]


def example_lines(command: str) -> Sequence[str]:
    return [f"tuibench {command} {line}".rstrip() for line in EXAMPLES.get(command, ())]


def _section_of(option: TyperOption) -> str:
    if not COMMON_OPTIONS.isdisjoint(option.opts):
        return OTHER_OPTIONS
    return option.rich_help_panel or OPTIONS


def _argument_usage(argument: TyperArgument) -> str:
    word = argument.metavar or ""
    return word if argument.required or word.startswith("[") else f"[{word}]"
