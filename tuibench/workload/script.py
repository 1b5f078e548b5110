"""sysbench's Lua scripts as profiles: their options, and the program that runs their events.

The native engine, built with Lua, runs a script (`native/src/script/`); `docs/lua.md` describes its API. This
module loads the script without a server, to learn the options and commands that it declares.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tuibench.base import files, installation, sanitize
from tuibench.base.errors import UsageError
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.server import Endpoint, Target
from tuibench.workload import compiler
from tuibench.workload.language import Profile, StatementText, StepText, TransactionText
from tuibench.workload.options import (
    THREADS,
    OptionType,
    ProfileOption,
    canonical_name,
    parse_option_value,
)
from tuibench.workload.program import Program, Script
from tuibench.workload.sbtest import NoTables

SUFFIX = ".lua"
EVENT = "event"
ALLOW_IO = "allow_script_io"
RUN, PREPARE, PREWARM, CLEANUP = "run", "prepare", "prewarm", "cleanup"
INIT, DONE = "init", "done"
REPORT_INTERMEDIATE, REPORT_CUMULATIVE = "report_intermediate", "report_cumulative"

INSTALLED = tuple(
    map(Path, ("/usr/share/sysbench", "/usr/local/share/sysbench", "/opt/homebrew/share/sysbench"))
)
"""Folders of an installed sysbench, from which scripts require others."""

OPTION_TYPES: dict[str, OptionType] = {
    "boolean": "flag",
    "integer": "integer",
    "number": "number",
    "list": "text",
    "string": "text",
}


SIZES = ("tables", "table_size", "scale", "oltp_tables_count", "oltp_table_size")
"""Options with which most scripts set the size of their tables."""


class ScriptTables(NoTables, frozen=True, kw_only=True):
    """The tables that a script creates itself."""

    sizes: dict[str, OptionValue]
    """The script's options that determine their size."""

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "ScriptTables":
        return cls(sizes={name: values[name] for name in SIZES if name in values})

    def describe(self) -> str:
        sizes = ", ".join(f"{name.replace('_', '-')}={value}" for name, value in self.sizes.items())
        return f"the script's tables ({sizes})" if sizes else "the script's tables"


class Declared(NamedTuple):
    """What a script declares."""

    options: dict[str, ProfileOption]
    commands: dict[str, bool]
    """For each command, whether every connection runs it."""
    has_events: bool
    hooks: tuple[str, ...] = ()
    """Functions that are called before and after a load (`init`, `done`), and for reports."""


def is_script(path: Path) -> bool:
    return path.suffix == SUFFIX


def load(path: Path, command: str = RUN) -> Script:
    """The script in a file, with the command to run. Raises UsageError if the file cannot be read."""
    try:
        text = files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the script {path}: {error}") from error
    folders = (path.resolve().parent, *(folder for folder in INSTALLED if folder.is_dir()))
    search = tuple(map(str, dict.fromkeys(folders)))
    return Script(path=str(path), text=text, command=command, search=search)


def with_general_options(script: Script, target: Target, plan: RunPlan | None = None) -> Script:
    """The script with the options of the run and of the server, as in sysbench. The password is empty unless
    the script may use files.
    """
    endpoints: tuple[Target | Endpoint, ...] = (target, *target.further)
    general: dict[str, bool | float | str | tuple[str, ...]] = {
        "mysql_compression": target.compress,
        "mysql_db": target.database,
        "mysql_host": tuple(each.host for each in endpoints),
        "mysql_password": target.password if script.allows_io else "",
        "mysql_port": tuple(str(each.port) for each in endpoints),
        "mysql_socket": tuple(each.socket for each in endpoints if each.socket),
        "mysql_ssl": target.ssl_mode not in ("disabled", "preferred"),
        "mysql_user": target.user,
    }
    if plan is not None:
        ignored = ("all",) if plan.ignored_errors is None else tuple(map(str, plan.ignored_errors))
        general |= {
            "events": plan.events or 0,
            "histogram": plan.histogram,
            "mysql_ignore_errors": ignored,
            "percentile": plan.percentiles[0] if plan.percentiles else 0,
            "rand_seed": plan.seed,
            "rate": plan.rate,
            "report_checkpoints": tuple(map(str, plan.checkpoints)),
            "report_interval": plan.report_seconds,
            "time": plan.seconds or 0,
        }
    return msgspec.structs.replace(script, general=tuple(general.items()))


def native_settings(
    script: Script, options: Mapping[str, OptionValue], *, is_prepared: bool = True
) -> dict[str, Any]:
    """The script's settings for the native engine."""
    threads = int(options.get(THREADS, 1))
    shared = {name: option.default for name, option in compiler.SHARED_OPTIONS.items()} | {
        name: value for name, value in options.items() if name in compiler.SHARED_OPTIONS
    }
    own = {
        name: value
        for name, value in options.items()
        if name not in compiler.SHARED_OPTIONS and name != ALLOW_IO
    }
    return {
        "path": script.path,
        "text": script.text,
        "command": script.command,
        "search": list(script.search),
        "given": {
            name: ("on" if value else "off") if isinstance(value, bool) else str(value)
            for name, value in own.items()
        },
        "general": {
            **GENERAL,
            **{name: value for name, value in shared.items() if value is not None},
            "threads": threads,
            "num_threads": threads,
            "db_ps_mode": "auto" if is_prepared else "disable",
            **{name: list(value) if isinstance(value, tuple) else value for name, value in script.general},
        },
        "distributions": {
            "default": shared["rand_type"],
            "iterations": shared["rand_spec_iter"],
            "hot_width": float(shared["rand_spec_pct"]) / 100,
            "hot_share": float(shared["rand_spec_res"]) / 100,
            "pareto_h": float(shared["rand_pareto_h"]),
            "zipfian_exponent": float(shared["rand_zipfian_exp"]),
        },
        "connections": max(threads, MOST_STATIC_CONNECTIONS),
        "is_prepared": is_prepared,
        "allows_io": script.allows_io,
    }


MOST_STATIC_CONNECTIONS = 1024
"""Connections that draw different unique numbers, including those added during a run."""

GENERAL: dict[str, object] = {
    "db_debug": False,
    "db_driver": "mysql",
    "debug": False,
    "events": 0,
    "forced_shutdown": "off",
    "help": False,
    "histogram": False,
    "max_requests": 0,
    "max_time": 0,
    "mysql_compression": False,
    "mysql_db": "sbtest",
    "mysql_debug": False,
    "mysql_dry_run": False,
    "mysql_host": ["localhost"],
    "mysql_ignore_errors": ["1213", "1020", "1205"],
    "mysql_password": "",
    "mysql_port": ["3306"],
    "mysql_socket": [],
    "mysql_ssl": False,
    "mysql_ssl_cipher": "",
    "mysql_storage_engine": "innodb",
    "mysql_user": "sbtest",
    "percentile": 95,
    "rand_seed": 0,
    "rate": 0,
    "report_checkpoints": [],
    "report_interval": 0,
    "thread_stack_size": 65536,
    "time": 10,
    "tx_rate": 0,
    "validate": False,
    "verbosity": 3,
    "version": False,
}
"""sysbench's own options that a script may read, and their values without a run and a server."""


def declared(script: Script) -> Declared:
    """What a script declares; it is loaded without a server.

    Raises UsageError with the script's error, or if the engine is not built with Lua.
    """
    return _declared(msgspec.structs.replace(script, command="help", general=()))


@cache
def _declared(script: Script) -> Declared:
    if not installation.has_native_engine():
        raise UsageError(f"{script.path}: Lua scripts need the native engine", installation.engine_remedy())
    if not installation.runs_scripts():
        raise UsageError(f"{script.path}: the native engine is built without Lua", installation.lua_remedy())
    try:
        options, commands, has_events, hooks, _ = installation.native_module().declared(
            native_settings(script, {})
        )
    except ValueError as error:
        raise UsageError(f"{script.path}: {sanitize.excerpt(str(error))}", "docs/lua.md") from None
    known = {
        name.replace("-", "_"): ProfileOption(
            type=OPTION_TYPES[kind], default=_default(kind, default), help=sanitize.excerpt(text)
        )
        for name, text, default, kind in options
    }
    return Declared(known, dict(commands), has_events, tuple(filter(None, hooks.split(","))))


def check_command(script: Script, command: str) -> bool:
    """True if each connection runs the command. Raises UsageError if the script has no such command
    or hook.
    """
    known = declared(script)
    commands = {**dict.fromkeys(known.hooks, False), **known.commands}
    if command not in commands:
        raise UsageError(
            f"{script.path} has no command '{command}'",
            f"its commands: {', '.join(known.commands) or 'none'}",
        )
    return commands[command]


def _default(kind: str, text: str) -> OptionValue:
    if kind == "boolean":
        return text == "true"
    if kind == "integer":
        return int(float(text or 0))
    return float(text or 0) if kind == "number" else text


def profile(script: Script) -> Profile:
    """The profile of a script: its options, and one transaction in place of the statements that the script
    sends.
    """
    known = declared(script).options
    shared = {name: option.default for name, option in known.items() if name in compiler.SHARED_OPTIONS}
    placeholder = StatementText(name=EVENT, sql="DO 0", prepared=False)
    return Profile(
        name=Path(script.path).stem,
        summary=f"the script {script.path}",
        data_set="script",
        defaults=shared,
        options={
            **{name: option for name, option in known.items() if name not in shared},
            ALLOW_IO: ProfileOption(
                type="flag", default=False, help="let the script use files, programs and the C library"
            ),
        },
        transactions=(
            TransactionText(name=EVENT, autocommit=True, steps=(StepText(statements=(placeholder,)),)),
        ),
    )


def program(script: Script, options: Mapping[str, object]) -> Program:
    """The program that runs a script's command. Raises UsageError for unknown options."""
    chosen = {canonical_name(name): value for name, value in options.items()}
    if ALLOW_IO in chosen:
        flag = ProfileOption(type="flag", default=False, help="")
        given = "on" if chosen[ALLOW_IO] == "" else chosen[ALLOW_IO]
        allows_io = bool(parse_option_value(ALLOW_IO, flag, given))
        script = msgspec.structs.replace(script, allows_io=allows_io)
        options = {**chosen, ALLOW_IO: allows_io}
    known = declared(script)
    if script.command == RUN and not known.has_events:
        raise UsageError(
            f"{script.path} has no events to run", f"its commands: {', '.join(known.commands) or 'none'}"
        )
    if script.command != RUN:
        check_command(script, script.command)
    read = profile(script)
    if not known.options:
        # As in sysbench, a script that declares no options gets all given options as text.
        undeclared = chosen.keys() - compiler.SHARED_OPTIONS.keys() - read.options.keys() - {THREADS}
        text = ProfileOption(type="text", default="", help="")
        read = msgspec.structs.replace(read, options={**read.options, **dict.fromkeys(undeclared, text)})
    compiled = compiler.compile_profile(read, options)
    return msgspec.structs.replace(compiled, script=script)
