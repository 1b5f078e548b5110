"""Creates profiles from real traffic: a slow query log, or a server's statement digests."""

import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tuibench import files, sanitize
from tuibench.cli.commands.profiles.traffic_options import TrafficOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.files import write_output
from tuibench.cli.output.log import info
from tuibench.errors import RunError, UsageError
from tuibench.units import count, pluralize
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile
from tuibench.workload.generate.generator import Generator
from tuibench.workload.traffic.digests import (
    ColumnFacts,
    Tables,
    UnknownValueError,
    model_of_digest,
    tables_named,
)
from tuibench.workload.traffic.mix import TrafficMix, TransactionModel
from tuibench.workload.traffic.profile_text import ObservedTraffic, profile_text
from tuibench.workload.traffic.slow_log import TransactionGrouper, statements

DUPLICATES = "If keys that it inserts exist already: --mysql-ignore-errors=1213,1020,1205,1062."


def from_slow_log(name: str, options: TrafficOptions) -> None:
    """Print or write the profile of a slow query log."""
    mix, grouper = TrafficMix(), TransactionGrouper()
    times: list[int] = []
    databases: set[str] = set()
    for statement in statements(_lines(name)):
        if statement.at is not None:
            times = (
                [min(statement.at, *times[:1]), max(statement.at, *times[1:])]
                if times
                else [statement.at] * 2
            )
        databases.update(filter(None, (statement.database,)))
        if (transaction := grouper.add(statement)) is not None:
            mix.add(transaction.statements, explicit=transaction.explicit)
    kinds = mix.kinds(options.top)
    if not kinds:
        raise UsageError(
            f"{name} has no statements of a slow query log",
            "to create one: SET GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0",
        )
    seconds = times[1] - times[0] + 1 if times else 0
    notes = [
        *_head(f"Created by tuibench from the slow query log {Path(name).name}.", databases),
        *_rate_notes(mix.transactions, seconds, "transactions"),
        *_kept(kinds, mix.transactions, "transactions"),
        *_skipped(mix, grouper),
    ]
    _write("observed_slow_log", "statements of a slow query log", notes, kinds, options)


def _lines(name: str) -> Iterator[str]:
    path = files.expand_path(name)
    try:
        with (
            files.open_regular(path, pipes=True) as binary,
            io.TextIOWrapper(binary, "utf-8", errors="replace") as file,
        ):
            yield from file
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error


def from_digest(server: ServerOptions, options: TrafficOptions) -> None:
    """Print or write the profile of a server's digests."""
    from tuibench.cli.runner.event_loop import run_async
    from tuibench.clock import SystemClock
    from tuibench.mysql.connection import connect
    from tuibench.observe.server import digest_reader

    target = server.target()
    database = digest_reader.checked_database(target.database)

    async def read() -> tuple[digest_reader.DigestStatistics, dict[str, dict[str, ColumnFacts]]]:
        connection = await connect(target)
        try:
            found = await digest_reader.read_digests(connection, database, options.seconds, SystemClock())
            named = [table for digest in found.digests for table in tables_named(digest.text)]
            return found, await digest_reader.read_tables(connection, database, named)
        finally:
            await connection.close()

    found, tables = run_async(read())
    kinds: list[TransactionModel] = []
    skipped: list[str] = []
    for digest in found.digests:
        if len(kinds) == options.top:
            break
        if not _is_of(digest.text, tables):
            continue
        try:
            statement = model_of_digest(digest.text, tables)
        except UnknownValueError as error:
            skipped.append(f"{count(digest.times)} × {_short(digest.text)}: unknown {error}")
            continue
        kinds.append(TransactionModel(digest.times, False, (statement,)))
    if not kinds:
        raise RunError(
            f"the server has no digests of statements on the database '{database}'"
            + (f": {_unseen(found.unseen)}" if found.unseen else ""),
            "run the traffic first, or use a slow query log: tuibench profiles from-slow-log FILE",
        )
    total = sum(digest.times for digest in found.digests if _is_of(digest.text, tables))
    notes = [
        *_head("Created by tuibench from a server's statement digests.", {database}),
        "Digests have no values: they are drawn from the columns that a statement names. Each statement "
        "commits on its own.",
        *_rate_notes(total, found.seconds, "statements"),
        *_kept(kinds, total, "statements"),
        *(f"Left out: {line}" for line in skipped),
    ]
    if found.unseen:
        notes.append(f"Left out: {_unseen(found.unseen)}.")
        info(f"left out: {_unseen(found.unseen)}; a slow query log has them: tuibench profiles from-slow-log")
    _write("observed_digests", f"statements of the database {database}", notes, kinds, options)


def _unseen(executions: int) -> str:
    return f"{count(executions)} executions of prepared statements, for which MariaDB has no digests"


def _is_of(digest: str, tables: Tables) -> bool:
    """True if a digest reads or writes rows of these tables."""
    return TrafficMix.is_wanted(digest) and any(name in tables for name in tables_named(digest))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _head(first: str, databases: set[str]) -> list[str]:
    named = ", ".join(sorted(databases))
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    return [
        f"{first} {today}.",
        *([f"Database: {named} (-D selects it; the tables must exist)."] if named else []),
    ]


def _rate_notes(total: int, seconds: float, what: str) -> list[str]:
    if seconds < 1:
        return []
    rate = total / seconds
    return [f"{count(total)} {what} in {seconds:,.0f} s: --rate={rate:.3g} runs as many per second."]


def _kept(kinds: Sequence[TransactionModel], total: int, what: str) -> list[str]:
    kept = sum(kind.times for kind in kinds)
    return [f"{pluralize(len(kinds), 'kind')}: {kept / total:.1%} of all {what}.", DUPLICATES]


def _skipped(mix: TrafficMix, grouper: TransactionGrouper) -> Iterator[str]:
    if mix.skipped:
        verbs = ", ".join(f"{verb} ({count(times)})" for verb, times in mix.skipped.most_common(8))
        yield f"Left out: {verbs}."
    if grouper.rolled_back:
        yield f"Left out: {pluralize(grouper.rolled_back, 'transaction')} that ended in ROLLBACK."


def _write(
    name: str,
    summary: str,
    notes: Sequence[str],
    kinds: Sequence[TransactionModel],
    options: TrafficOptions,
) -> None:
    """Validate the profile, and print or write it."""
    path = files.expand_path(options.out) if options.out else None
    title = path.stem if path else name
    text = profile_text(ObservedTraffic(title, summary, [sanitize.text(note) for note in notes], kinds))
    Generator(compile_profile(library.parse_profile(text, f"{title}.toml"), {}), 0, 0)
    write_output(str(path or ""), (text,))
    if path is None:
        return
    info(
        f"{options.out}: {pluralize(len(kinds), 'kind')} of transactions; tuibench run {options.out} runs it"
    )
