"""How a command explains itself: options by subject, what each takes, its default in brackets, examples.

What an option takes is told by one table, so that it is called the same in all commands.
"""

import re
from collections.abc import Sequence
from typing import Any

from tuibench.cli.values import QuickCommand

LONGEST_NAMES = 34
"""Options with longer names have their words on the next line."""

OPTIONS, OTHER = "Options", "Other"
ORDER = (
    "Arguments",
    OPTIONS,
    "Load",
    "Transactions",
    "What it prints and leaves",
    "Server",
    "SQL of your own",
    "A/B trial",
    "In the background",
    "Screen",
    OTHER,
)
"""The sections. A command's own options have none, and come first; what most commands have comes last."""

EVERYWHERE = frozenset({"--help", "--run-dir", "--yes-this-server"})

TAKES = {
    "--ab": "NAME=V1,V2",
    "--after-load": "on|off|auto",
    "--arrival": "poisson|constant",
    "--backlog": "keep|drop",
    "--by": "threads|rate",
    "--client-delay": "TIME",
    "--concurrency": "N,…",
    "--create": "SQL|FILE",
    "--create-schema": "NAME",
    "--csv": "FILE",
    "--database": "NAME",
    "--db-ps-mode": "auto|disable",
    "--defaults-file": "FILE",
    "--defaults-group-suffix": "TEXT",
    "--delimiter": "TEXT",
    "--engine": "NAME,…",
    "--fail-if": "CONDITION",
    "--format": "FORMAT",
    "--grace": "SECONDS",
    "--histogram": "on|off",
    "--host": "HOST",
    "--html": "FILE",
    "--init-command": "SQL",
    "--interval": "SECONDS",
    "--isolation": "LEVEL",
    "--json": "FILE",
    "--load-with": "WAY",
    "--max-step-time": "SECONDS",
    "--max-time": "SECONDS",
    "--mysql-ignore-errors": "N,…|all",
    "--on-error": "stop|continue",
    "--order": "ORDER",
    "--out": "FILE",
    "--password": "TEXT",
    "--password-command": "COMMAND",
    "--percentile": "N,…",
    "--plan": "STAGES",
    "--port": "PORT",
    "--post-query": "SQL|FILE",
    "--post-system": "COMMAND",
    "--pre-query": "SQL|FILE",
    "--pre-system": "COMMAND",
    "--preset": "NAME,…",
    "--profile": "PROFILE",
    "--query": "SQL|FILE",
    "--ramp": "N..N/TIME",
    "--ramp-rate": "N..N/TIME",
    "--report-checkpoints": "SECONDS,…",
    "--report-interval": "SECONDS",
    "--resume": "DIR",
    "--run-dir": "DIR",
    "--server": "FILE",
    "--setting": "NAME=V,…",
    "--slo": "CONDITION",
    "--socket": "FILE",
    "--sql": "SQL",
    "--sql-file": "FILE",
    "--sql-param": "NAME=DRAW",
    "--sql-weights": "N/N",
    "--ssl-ca": "FILE",
    "--ssl-cert": "FILE",
    "--ssl-key": "FILE",
    "--ssl-mode": "MODE",
    "--table": "KIND",
    "--theme": "NAME",
    "--thread-init-timeout": "SECONDS",
    "--time": "SECONDS",
    "--timeout": "SECONDS",
    "--user": "USER",
    "--wait": "SECONDS",
    "--warmup-time": "SECONDS",
    "--window": "SECONDS",
}
"""What an option takes, unless it is a number."""

NUMBER = "N"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": (
        "",
        "--profile tpcc --warehouses=2",
        "--headless --time=10",
        "--ramp 1..64/60s",
        "--server=/usr/sbin/mysqld",
    ),
    "live": (
        "oltp_read_write --tables=4 --table-size=100000 --threads=16 -h db1 -u app -p",
        "oltp_write_only --plan 8:30s,16:30s,64:1m -h db1 -u app -p",
    ),
    "run": (
        "oltp_read_write --tables=4 --table-size=100000 --threads=16 --time=60 -h db1 -u app -p",
        "oltp_read_write --rate=500 --time=60 --json=result.json --fail-if 'p95>50ms'",
        "oltp_write_only --threads=16 --ab innodb_flush_log_at_trx_commit=1,0",
        "--sql 'SELECT c FROM sbtest1 WHERE id=:id' --sql-param id=1..100000",
    ),
    "sweep": (
        "oltp_write_only --threads=4,8,16,32 --preset=durable,unsafe --repeat=3 --time=30",
        "oltp_read_only --threads=8,64 --range-size=10,1000 --format=html --out=sweep.html",
        "--show DIR --format=markdown",
    ),
    "slap": ("-a --auto-generate-sql-add-autoincrement --concurrency=16,32 --number-of-queries=10000",),
    "probe": ("oltp_read_write --slo 'p95<20ms' -h db1 -u app -p", "oltp_read_only --by rate --threads=64"),
    "prepare": (
        "oltp_read_write --tables=4 --table-size=100000 --create-database -h db1 -u app -p",
        "tpcc --warehouses=10 --threads=8",
    ),
    "cleanup": ("oltp_read_write --tables=4 -h db1 -u app -p", "tpcc"),
    "check": ("tpcc", "sbtest --tables=4 --table-size=100000"),
    "profiles": ("", "show oltp_read_write", "check ./mine.toml"),
    "doctor": ("oltp_read_write --tables=4 --table-size=100000 --threads=64 -h db1 -u app -p",),
    "settings": ("list -h db1 -u app -p",),
    "sessions": ("", "--format json"),
    "attach": ("", "1132 --read-only"),
    "web": ("", "1132 --port 8080"),
    "ctl": ("threads 64", "1132 set sync_binlog=0", "1132 mark 'backup begins'", "stop --wait --format json"),
    "runs": ("", "show latest", "remove 20261121-0912"),
    "replay": ("latest --speed 4",),
    "report": ("latest", "latest --html run.html", "latest --markdown --csv=run.csv"),
    "compare": ("20261121-0720 20261121-0815 --fail-if 'tps<-5%'",),
    "restore": ("--dry-run", "-p"),
}


class Command(QuickCommand):
    """A command whose help has a section for each subject, and ends with examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_usage(each) for each in self._arguments(ctx))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self._arguments(ctx):
            sections.setdefault("Arguments", []).append((_usage(each), _with_default(_words(each, ctx))))
        for each in self.get_params(ctx):
            if each.param_type_name == "option" and (record := _option(each, ctx)):
                sections.setdefault(_section(each), []).append(record)
        if set(sections) <= {"Arguments", OPTIONS, OTHER}:
            sections[OPTIONS] = sections.get(OPTIONS, []) + sections.pop(OTHER)
        for title in sorted(sections, key=ORDER.index):
            with formatter.section(title):
                formatter.write_dl(sections[title], col_max=LONGEST_NAMES)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if lines := examples(self.name or ""):
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in lines))

    def _arguments(self, ctx: Any) -> list[Any]:
        return [each for each in self.get_params(ctx) if each.param_type_name == "argument"]


def examples(command: str) -> Sequence[str]:
    """Whole command lines."""
    return [f"tuibench {command} {line}".rstrip() for line in EXAMPLES.get(command, ())]


def takes(names: Sequence[str]) -> str:
    """What the option of these names takes."""
    return next((TAKES[name] for name in names if name in TAKES), NUMBER)


def _section(option: Any) -> str:
    if not EVERYWHERE.isdisjoint(option.opts):
        return OTHER
    return getattr(option, "rich_help_panel", None) or OPTIONS


def _usage(argument: Any) -> str:
    word = argument.metavar or (argument.name or "").upper()
    return word if argument.required or word.startswith("[") else f"[{word}]"


def _words(argument: Any, ctx: Any) -> str:
    return (argument.get_help_record(ctx) or ("", ""))[1] or ""


def _option(option: Any, ctx: Any) -> tuple[str, str] | None:
    if option.metavar is None:
        option.metavar = takes(option.opts)
    record = option.get_help_record(ctx)
    return record and (record[0], _with_default(record[1]))


def _with_default(text: str) -> str:
    """The parser's `Words.  [default: 5]` as sysbench has it: `Words [5].`"""
    found = re.fullmatch(r"(.*?)\.?\s+\[([^\[\]]*)\]", text, re.DOTALL)
    default = re.search(r"default: ([^;]*)", found[2]) if found else None
    if found is None or (default is None and not re.search(r"required|<=", found[2])):
        return text
    value = default[1].strip().removesuffix(".0") if default else ""
    return f"{found[1]} [{value}]." if value else f"{found[1]}."
