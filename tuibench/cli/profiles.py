"""`tuibench profiles`: lists profiles, shows or checks one, creates one.

A profile is created from query logs, or from a server's statement digests.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from os.path import isfile
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
import typer

from tuibench.base import files, sanitize
from tuibench.base.errors import RunError, UsageError, did_you_mean
from tuibench.base.units import count, pluralize, shorten
from tuibench.cli import candidates
from tuibench.cli.arguments import STDOUT
from tuibench.cli.log_files import read_logs
from tuibench.cli.options import CONTEXT, TextOrJson
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info, write_output
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.tables import progress_bar
from tuibench.cli.usage_errors import option_hint
from tuibench.model.option import check_range
from tuibench.model.plan import OptionValue
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile, known_options
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.language import (
    HeadlineText,
    LetSpec,
    Profile,
    StatementText,
    StepText,
    TransactionText,
)
from tuibench.workload.options import FLAG_WORDS, THREADS, ProfileOption, command_line_name
from tuibench.workload.program import FlatStatement, flat_statements
from tuibench.workload.query_log import MAKE_ONE, QueryLog, TransactionGrouper
from tuibench.workload.script import ALLOW_IO
from tuibench.workload.sql import StatementClass
from tuibench.workload.traffic import (
    ColumnFacts,
    Tables,
    TrafficMix,
    TransactionModel,
    UnknownValueError,
    model_of_digest,
    profile_text,
    statement_sql,
    tables_named,
)

__all__ = ["CONTEXT", "profiles"]

MAX_KINDS = 1000
MAX_LOSSES = 12
MAX_DATABASES = 20
"""Maximum number of databases in the comments of a created profile; `MAX_LOSSES` limits the reasons for
statements that were left out.
"""


class TrafficOptions(msgspec.Struct, frozen=True):
    """Options of from-slow-log and from-digest."""

    SECTION: ClassVar = "Profiles of real traffic"

    out: Annotated[
        str, typer.Option(metavar="FILE", help="Write the profile to this file, instead of stdout.")
    ] = ""
    top: Annotated[
        int, typer.Option(help="Number of kinds of transactions to keep, the most frequent ones.")
    ] = 20
    seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="from-digest: seconds to count; 0: since the server's statistics were reset.",
        ),
    ] = 0

    def check(self) -> None:
        """Raises UsageError for values out of range."""
        check_range("--top", self.top, 1, MAX_KINDS)
        check_range("--seconds", self.seconds, 0, 86_400)


DUPLICATES = "If keys that it inserts exist already: --mysql-ignore-errors=1213,1020,1205,1062."


def from_slow_log(names: Sequence[str], options: TrafficOptions, server: ServerOptions) -> None:
    """Print or write the profile of query logs. If a server is given, statements that it refuses are left
    out.
    """
    log, grouper, mix = QueryLog(), TransactionGrouper(), TrafficMix()
    first, last, sampled = None, 0, 1
    with progress_bar("reading", "{task.fields[text]}", text="") as update:

        def progress(read: int, size: int) -> None:
            update(completed=read, total=size or None, text=f"{count(log.seen)} statements")

        for statement in read_logs(names, log, progress):
            if statement.at is not None:
                first = statement.at if first is None else min(first, statement.at)
                last = max(last, statement.at)
            sampled = max(sampled, statement.times)
            if (done := grouper.add(statement)) is not None:
                mix.add(
                    [each.sql for each in done.statements],
                    databases=[each.database for each in done.statements],
                    explicit=done.is_explicit,
                    times=done.statements[0].times,
                )
    grouper.close()
    lost = log.lost + grouper.lost + mix.lost
    kinds = mix.kinds(options.top)
    refusals: list[str] = []
    if kinds and server.names_server:
        kinds, refusals = _accepted(kinds, server, mix.databases)
    if not kinds:
        raise RunError(
            f"no statement of {shlex.join(names)} is left for a profile",
            (refusals or [_losses(lost, log.seen) or MAKE_ONE])[0],
        )
    files_read = ", ".join("standard input" if name == STDOUT else Path(name).name for name in names)
    limit = f"log_slow_rate_limit: the log has one statement in {sampled:,}; the counts are multiplied."
    notes = [
        *_head(f"Created by tuibench from the query log {files_read}.", mix.databases),
        *_rate_notes(mix.transactions, last - first + 1 if first is not None else 0, "transactions"),
        *[limit] * (sampled > 1),
        *_kept(kinds, mix.transactions, "transactions"),
        *filter(None, [_losses(lost, log.seen)]),
        *refusals,
    ]
    for note in refusals:
        info(sanitize.text(note))
    _write(
        "observed_slow_log",
        "statements of a query log",
        notes,
        kinds,
        options,
        with_database=len(mix.databases) > 1,
    )


def _losses(lost: Counter[str], seen: int) -> str:
    """A sentence about the statements that were left out, with the reasons; empty if there are none."""
    if not lost:
        return ""
    parts = ", ".join(f"{count(times)} {what}" for what, times in lost.most_common(MAX_LOSSES))
    more = f", {count(sum(lost.values()) - sum(times for _, times in lost.most_common(MAX_LOSSES)))} others"
    return (
        f"Left out: {count(sum(lost.values()))} of {count(seen)} statements: {parts}"
        f"{more * (len(lost) > MAX_LOSSES)}."
    )


def _accepted(
    kinds: Sequence[TransactionModel], server: ServerOptions, databases: set[str]
) -> tuple[list[TransactionModel], list[str]]:
    """The kinds of transactions without statements that the server refuses, and a line for each of these."""
    from tuibench.cli.runner import run_async
    from tuibench.load.tables import refused_statements

    with_database = len(databases) > 1
    target = server.target()
    if server.database is None and len(databases) == 1:
        target = msgspec.structs.replace(target, database=min(databases))
    times: Counter[FlatStatement] = Counter()
    texts = {}
    for kind in kinds:
        for statement in kind.statements:
            sql = statement_sql(statement, with_database=with_database)
            texts[statement] = flat = FlatStatement("", StatementClass.OTHER, sql, prepared=True)
            times[flat] += kind.times
    refused = run_async(refused_statements(target, list(times), use_database=not with_database))
    left = [
        kind._replace(statements=tuple(each for each in kind.statements if texts[each] not in refused))
        for kind in kinds
    ]
    lines = [
        f"Left out: {count(times[flat])} × {shorten(flat.sql, 100)}: the server refuses it: {error}"
        for flat, error in refused.items()
    ]
    return [kind for kind in left if kind.statements], lines


def from_digest(server: ServerOptions, options: TrafficOptions) -> None:
    """Print or write the profile of a server's statement digests."""
    from tuibench.base.clock import SystemClock
    from tuibench.cli.runner import run_async
    from tuibench.mysql.connection import connect
    from tuibench.observe import digests

    target = server.target()
    database = digests.checked_database(target.database)

    async def read() -> tuple[dict[str, int], float, int, dict[str, dict[str, ColumnFacts]]]:
        connection = await connect(target)
        try:
            found, seconds, unseen = await digests.read_digests(
                connection, database, options.seconds, SystemClock()
            )
            named = [table for digest in found for table in tables_named(digest)]
            return found, seconds, unseen, await digests.read_tables(connection, database, named)
        finally:
            await connection.close()

    found, seconds, unseen, tables = run_async(read())
    kinds: list[TransactionModel] = []
    skipped: list[str] = []
    for digest, times in found.items():
        if len(kinds) == options.top:
            break
        if not _is_of(digest, tables):
            continue
        try:
            statement = model_of_digest(digest, tables)
        except UnknownValueError as error:
            skipped.append(f"{count(times)} × {shorten(digest, 60)}: unknown {error}")
            continue
        kinds.append(TransactionModel(times, False, (statement,)))
    if not kinds:
        raise RunError(
            f"the server has no digests of statements on the database '{database}'"
            + (f": {_unseen(unseen)}" if unseen else ""),
            "run the traffic first, or use a slow query log: tuibench profiles from-slow-log FILE",
        )
    total = sum(times for digest, times in found.items() if _is_of(digest, tables))
    notes = [
        *_head("Created by tuibench from a server's statement digests.", {database}),
        "Digests have no values: they are drawn from the columns that a statement names. Each statement "
        "commits on its own.",
        *_rate_notes(total, seconds, "statements"),
        *_kept(kinds, total, "statements"),
        *(f"Left out: {line}" for line in skipped),
    ]
    if unseen:
        notes.append(f"Left out: {_unseen(unseen)}.")
        info(f"left out: {_unseen(unseen)}; a slow query log has them: tuibench profiles from-slow-log")
    _write("observed_digests", f"statements of the database {database}", notes, kinds, options)


def _unseen(executions: int) -> str:
    return f"{count(executions)} executions of prepared statements, for which MariaDB has no digests"


def _is_of(digest: str, tables: Tables) -> bool:
    """True if a digest reads or writes rows of these tables."""
    return TrafficMix.is_wanted(digest) and any(name in tables for name in tables_named(digest))


def _head(first: str, databases: set[str]) -> list[str]:
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    head = [f"{first} {today}."]
    if len(databases) == 1:
        head.append(f"Database: {min(databases)} (-D selects it; the tables must exist).")
    elif databases:
        named = sorted(databases)
        more = f" and {count(len(named) - MAX_DATABASES)} others" * (len(named) > MAX_DATABASES)
        head.append(
            f"Databases: {', '.join(named[:MAX_DATABASES])}{more}; tables have theirs in their names."
        )
    return head


def _rate_notes(total: int, seconds: float, what: str) -> list[str]:
    if seconds < 1:
        return []
    rate = float(f"{total / seconds:.3g}")
    return [f"{count(total)} {what} in {seconds:,.0f} s: --rate={rate:g} runs as many per second."]


def _kept(kinds: Sequence[TransactionModel], total: int, what: str) -> list[str]:
    kept = sum(kind.times for kind in kinds)
    return [f"{pluralize(len(kinds), 'kind')}: {kept / total:.1%} of all {what}.", DUPLICATES]


def _write(
    name: str,
    summary: str,
    notes: Sequence[str],
    kinds: Sequence[TransactionModel],
    options: TrafficOptions,
    *,
    with_database: bool = False,
) -> None:
    """Validate the profile, and print or write it."""
    path = files.expand_path(options.out) if options.out else None
    title = path.stem if path else name
    lines = [sanitize.text(note).replace("\n", " ") for note in notes]
    text = profile_text(title, summary, lines, kinds, with_database=with_database)
    TransactionGenerator(compile_profile(library.parse_profile(text, f"{title}.toml"), {}), 0, 0)
    write_output(str(path or ""), (text,))
    if path is None:
        return
    info(
        f"{options.out}: {pluralize(len(kinds), 'kind')} of transactions; tuibench run {options.out} runs it"
    )


INDENT = "  "


def profile_description(profile: Profile) -> str:
    """The description of a profile, with a final newline."""
    options = {name: option for name, option in known_options(profile).items() if name != THREADS}
    width = max(len(_option_text(name, option)) for name, option in options.items())
    lines = [f"{profile.name}: {profile.summary}", f"data set: {profile.data_set}", "", "options:"]
    lines += [
        f"  {_option_text(name, option):{width}}  {_option_help(option)}" for name, option in options.items()
    ]
    if ALLOW_IO in profile.options:
        lines += ["", "transactions: calls of event(), whose statements the script sends"]
        return "\n".join(map(sanitize.text, lines)) + "\n"
    lines += ["", f"transactions{', dealt from a deck' * (profile.draw == 'deck')}:"]
    for transaction in profile.transactions:
        lines += _transaction_lines(transaction, profile)
    return "\n".join(map(sanitize.text, lines)) + "\n"


def _option_text(name: str, option: ProfileOption) -> str:
    return f"{command_line_name(name)}={_value_text(option.default)}"


def _value_text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return next(word for word, meaning in FLAG_WORDS.items() if meaning is value)
    return str(value)


def _option_help(option: ProfileOption) -> str:
    limits = [
        f"{word} {limit:,.10g}"
        for word, limit in (("at least", option.minimum), ("at most", option.maximum))
        if limit is not None and limit != 2**31 - 1
    ]
    limits += [f"one of {', '.join(option.choices)}"] * bool(option.choices)
    return option.help + (f" ({', '.join(limits)})" if limits else "")


def _transaction_lines(transaction: TransactionText, profile: Profile) -> Iterator[str]:
    around = "each statement by itself" if transaction.autocommit is True else "between BEGIN and COMMIT"
    if isinstance(transaction.autocommit, str):
        around += f" unless {command_line_name(transaction.autocommit)}"
    share = f", weight {transaction.weight:g}" * (len(profile.transactions) > 1)
    yield f"  {transaction.name}: {around}{share}"
    for step in transaction.steps:
        yield from _step_lines(profile.steps[step] if isinstance(step, str) else step, INDENT * 2)


def _step_lines(step: StepText, indent: str) -> Iterator[str]:
    """The lines of a step; the body of a loop or condition is indented."""
    words = []
    if step.when:
        words.append(f"when {step.when}")
    if step.each:
        words.append(f"for each {', '.join(step.into)} of {step.each}")
    elif step.repeat != 1:
        words.append(f"{step.repeat} times")
    if words:
        yield f"{indent}{', '.join(words)}:"
        indent += INDENT
    for name, let in step.let.items():
        yield f"{indent}{name} = {_expression_text(let)}"
    for statement in step.statements:
        yield f"{indent}{statement.name}: {_statement_text(statement)}"
    for inner in step.steps:
        yield from _step_lines(inner, indent)
    if step.rollback:
        chance = "" if step.rollback is True else f" in {step.rollback * 100:g} % of the cases"
        yield f"{indent}ROLLBACK{chance}"


def _expression_text(let: LetSpec) -> str:
    """An expression as text, a random draw with its arguments."""
    if isinstance(let, str | bool | int | float):
        return str(let)
    taken = {name: getattr(let, name) for name in let.__struct_fields__}
    words = [
        f"{name}={_expression_text(value) if name == 'of' else value}"
        for name, value in taken.items()
        if value is not None
    ]
    return f"{let.__struct_config__.tag}({', '.join(words)})"


def _statement_text(statement: StatementText) -> str:
    sql = " ".join(statement.sql.split())
    for name, part in statement.parts.items():
        sql += f"   {{{name}}}: {part.repeat} times {part.sql}"
    if statement.capture or statement.rows:
        sql += f"   -> {', '.join((*statement.capture, *[statement.rows] * bool(statement.rows)))}"
    return sql if statement.prepared else f"{sql}   (sent as text)"


CHECK, FROM_SLOW_LOG, FROM_DIGEST = "check", "from-slow-log", "from-digest"
ACTION_WORDS = ("list", "show", CHECK, FROM_SLOW_LOG, FROM_DIGEST)


class ProfileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in the list."""

    name: str
    data_set: str = ""
    summary: str = ""
    file: str
    error: str = ""
    """The reason why the file cannot be read as a profile."""


class ProfileDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A profile, merged with the profiles that it extends; named steps are expanded where they are used."""

    name: str
    summary: str
    data_set: str
    draw: str
    options: dict[str, ProfileOption]
    lists: dict[str, tuple[int | float | str, ...]]
    headline: HeadlineText | None
    transactions: tuple[TransactionText, ...]


class RefusedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that the server does not prepare, and its error."""

    name: str
    sql: str
    error: str


class ProfileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the check of a valid profile; an invalid profile is an error."""

    name: str
    ok: bool = True
    """True if the server refuses no statement."""
    statements: int | None = None
    """The number of statements that the server prepared or refused; None without a server."""
    refused: list[RefusedStatement] = []


def profiles(
    context: typer.Context,
    traffic: TrafficOptions,
    server: ServerOptions,
    action: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.words(*ACTION_WORDS), metavar="|".join(ACTION_WORDS), help="Action."
        ),
    ] = "list",
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.object_of_action(candidates.profiles),
            help="A profile's name, or a file.",
            show_default=False,
        ),
    ] = "",
    output: TextOrJson = TEXT,
) -> None:
    """list: names, data sets, summaries. show NAME: options with defaults and limits, transactions,
    statements. check FILE: prints ok, or the error and its place; with server options, the server prepares
    each statement, and those that it refuses are named. from-slow-log FILE …: creates a profile from slow
    query logs or general logs (plain, .gz, .bz2, .xz, or `-` for stdin); with server options without the
    statements that the server refuses. from-digest: creates one from the statement digests of a server's
    database.
    """
    if action not in ACTION_WORDS:
        raise UsageError(f"profiles has no action '{action}'", did_you_mean(action, ACTION_WORDS))
    unknown = [
        each for each in context.args if action != FROM_SLOW_LOG or (each.startswith("-") and each != STDOUT)
    ]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]}", option_hint(unknown[0]))
    check_format(output)
    traffic.check()
    if bool(name) != (action not in ("list", FROM_DIGEST)):
        raise UsageError(f"profiles {action} takes {'no name' if name else 'a name or a file'}")
    if action == CHECK:
        _check(name, output == JSON, server)
    elif action in ACTIONS:
        ACTIONS[action](name, output == JSON)
    elif action == FROM_DIGEST:
        from_digest(server, traffic)
    else:
        from_slow_log([name, *context.args], traffic, server)


def _list(_: str, as_json: bool) -> None:
    lines = [_line(name, path) for name, path in sorted(library.available_profiles().items())]
    if as_json:
        echo_json(lines)
        return
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        words = f"{line.name:{width}}  {line.data_set:8}  {line.summary or f'broken: {line.error}'}"
        typer.echo(sanitize.text(words))


def _line(name: str, path: Path) -> ProfileLine:
    """The line of a profile; for an invalid file it has the error, so that the list has all others."""
    try:
        profile = library.load_profile(name)
    except UsageError as error:
        return ProfileLine(name=name, file=str(path), error=str(error))
    return ProfileLine(name=name, file=str(path), data_set=profile.data_set, summary=profile.summary)


def _show(name: str, as_json: bool) -> None:
    profile = library.load_profile(_resolve_file(name))
    if not as_json:
        typer.echo(profile_description(profile), nl=False)
        return
    steps = profile.steps
    echo_json(
        ProfileDetails(
            name=profile.name,
            summary=profile.summary,
            data_set=profile.data_set,
            draw=profile.draw or "weight",
            options=known_options(profile),
            lists=profile.lists,
            headline=profile.headline,
            transactions=tuple(
                msgspec.structs.replace(
                    transaction,
                    steps=tuple(steps[step] if isinstance(step, str) else step for step in transaction.steps),
                )
                for transaction in profile.transactions
            ),
        )
    )


def _check(name: str, as_json: bool, server: ServerOptions) -> None:
    profile = library.load_profile(_resolve_file(name))
    # Compiling finds errors that depend on the values of options.
    program = compile_profile(profile, {})
    TransactionGenerator(program, 0, 0)
    result = ProfileCheck(name=profile.name)
    if server.names_server:
        from tuibench.cli.runner import run_async
        from tuibench.load.tables import refused_statements

        statements = flat_statements(program)
        found = run_async(refused_statements(server.target(), statements))
        refused = [RefusedStatement(name=each.name, sql=each.sql, error=found[each]) for each in found]
        result = ProfileCheck(name=profile.name, ok=not refused, statements=len(statements), refused=refused)
    if as_json:
        echo_json(result)
    else:
        for each in result.refused:
            typer.echo(
                sanitize.text(f"{each.name}: {each.error}\n  {shorten(' '.join(each.sql.split()), 200)}")
            )
        if result.ok:
            prepared = f", the server prepares its {pluralize(result.statements or 0, 'statement')}"
            typer.echo(f"{name}: ok{prepared * (result.statements is not None)}")
    if not result.ok:
        raise RunError(
            f"the server refuses {len(result.refused)} of the "
            f"{pluralize(result.statements or 0, 'statement')} of {name}",
            "do the tables exist in the database? -D selects it",
        )


def _resolve_file(name: str) -> str:
    """The path of a file in the current directory that is given by its name, with any suffix."""
    return str(Path(name).absolute()) if isfile(name) else name


ACTIONS: dict[str, Callable[[str, bool], None]] = {"list": _list, "show": _show}
