"""`tuibench slap`: mysqlslap's benchmark with its options, its report and its CSV.

Scripts parse report and CSV, so labels and formats are exactly those of mysqlslap 1.0 (MariaDB 10.11). Times
are truncated to milliseconds, as in mysqlslap. Additional figures go to stderr. `--only-print` prints the
statements in mysqlslap's format, without a server.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer

from tuibench.base import files
from tuibench.base.errors import UsageError
from tuibench.cli.arguments import STDOUT
from tuibench.cli.options import TextOrJson, seed_or_random
from tuibench.cli.output import JSON, ONE_FORMAT_ON_STDOUT, TEXT, check_format, echo_json, info, write_output
from tuibench.cli.runner import run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.features.slap.runner import (
    DEFAULT_SCHEMA,
    SlapRunner,
    SlapSpec,
    check_not_system_schema,
    quote_schema,
)
from tuibench.features.slap.sql import (
    LoadType,
    SlapColumns,
    SlapQuery,
    SlapScript,
    StorageEngine,
    client_program,
    create_sql,
    generate_queries,
    insert_query,
    split_user_statements,
)
from tuibench.model.counters import Counter
from tuibench.model.option import check_choice, check_range
from tuibench.model.plan import EngineChoice
from tuibench.model.schedule import MAX_THREADS
from tuibench.model.server import Target
from tuibench.model.summary import OWN_QUERIES, SlapBenchmark

__all__ = ["CONTEXT", "slap"]


MS_PER_SECOND = 1000
GENERATED_BY_DEFAULT = "mixed"
"""The load type in mysqlslap's CSV, also for a user's own queries."""

FIGURES = (
    (Counter.COM_SELECT, "selects"),
    (Counter.COM_INSERT, "inserts"),
    (Counter.COM_UPDATE, "updates"),
    (Counter.INNODB_ROWS_READ, "rows read"),
    (Counter.ROW_LOCK_WAITS, "row lock waits"),
    (Counter.DATA_FSYNCS, "fsyncs by InnoDB"),
    (Counter.SLOW_QUERIES, "slow queries"),
)
"""Server counters that are reported if they grew, with their descriptions."""


def slap_report_text(done: SlapBenchmark) -> str:
    """mysqlslap's report of one benchmark, ending in an empty line."""
    average, least, most = _times(done)
    engine = [f"\tRunning for engine {done.engine}"] if done.engine else []
    lines = [
        "Benchmark",
        *engine,
        f"\tAverage number of seconds to run all queries: {average} seconds",
        f"\tMinimum number of seconds to run all queries: {least} seconds",
        f"\tMaximum number of seconds to run all queries: {most} seconds",
        f"\tNumber of clients running queries: {done.clients}",
        f"\tAverage number of queries per client: {done.queries_per_client}",
    ]
    return "\n".join(lines) + "\n\n"


def slap_csv_row(done: SlapBenchmark) -> str:
    """mysqlslap's row: engine, load type, average, minimum, maximum, clients, queries per client."""
    average, least, most = _times(done)
    load_type = GENERATED_BY_DEFAULT if done.load_type == OWN_QUERIES else done.load_type
    cells = (done.engine, load_type, average, least, most, done.clients, done.queries_per_client)
    return ",".join(map(str, cells)) + "\n"


def slap_extra_lines(done: SlapBenchmark) -> list[str]:
    """Figures that mysqlslap does not report: throughput, percentiles, errors, and server counters."""
    queries = done.queries
    who = f"{done.clients} clients" + (f", {done.engine}" if done.engine else "")
    lines = [
        f"{who}: {queries.per_second:,.0f} queries/s "
        f"({queries.read:,} reads, {queries.write:,} writes, {queries.other:,} other)"
    ]
    if latency := done.latency_ms:
        lines.append(
            f"  query latency: p50 {latency.p50:.2f}, p95 {latency.p95:.2f}, p99 {latency.p99:.2f}, "
            f"p99.9 {latency.p999:.2f}, max {latency.max:.2f} ms"
        )
    if done.errors:
        errors = ", ".join(f"{code} × {times}" for code, times in done.errors.items())
        lines.append(f"  errors by code: {errors}; queries retried: {done.retries}")
    counted = [f"{done.server[name]:,} {words}" for name, words in FIGURES if done.server.get(name)]
    if counted:
        lines.append(f"  the server counted: {', '.join(counted)}")
    return lines


def _times(done: SlapBenchmark) -> tuple[str, str, str]:
    """Average, minimum and maximum, each truncated to whole milliseconds as in mysqlslap."""
    each = [int(seconds * MS_PER_SECOND) for seconds in done.seconds]
    average = sum(each) // len(each)
    return _written(average), _written(min(each)), _written(max(each))


def _written(milliseconds: int) -> str:
    return f"{milliseconds // MS_PER_SECOND}.{milliseconds % MS_PER_SECOND:03}"


ESCAPES = {r"\n": "\n", r"\t": "\t"}


class GenerationOptions(msgspec.Struct, frozen=True):
    """Statements that mysqlslap generates by itself."""

    auto_generate_sql: Annotated[
        bool, typer.Option("-a", "--auto-generate-sql", help="Generate the table and the statements.")
    ] = False
    auto_generate_sql_load_type: Annotated[str, typer.Option(help="mixed, update, write, key or read.")] = (
        LoadType.MIXED
    )
    auto_generate_sql_add_autoincrement: Annotated[
        bool,
        typer.Option("--auto-generate-sql-add-autoincrement", help="Give the table an AUTO_INCREMENT key."),
    ] = False
    auto_generate_sql_guid_primary: Annotated[
        bool, typer.Option("--auto-generate-sql-guid-primary", help="Give the table GUIDs as its key.")
    ] = False
    auto_generate_sql_secondary_indexes: Annotated[int, typer.Option(help="Number of secondary indexes.")] = 0
    auto_generate_sql_unique_query_number: Annotated[
        int, typer.Option(help="Number of distinct statements of the clients.")
    ] = 10
    auto_generate_sql_unique_write_number: Annotated[
        int, typer.Option(help="Number of distinct INSERTs that fill the table.")
    ] = 10
    auto_generate_sql_write_number: Annotated[
        int, typer.Option(help="Statements that create and fill the table: rows + 1.")
    ] = 100
    auto_generate_sql_execute_number: Annotated[int, typer.Option(help="Queries of each client.")] = 0
    number_int_cols: Annotated[
        str, typer.Option("-y", "--number-int-cols", help="INT columns; 2:1 to index them.")
    ] = "1"
    number_char_cols: Annotated[
        str, typer.Option("-x", "--number-char-cols", help="VARCHAR columns; 2:1 to index them.")
    ] = "1"

    def script(self, before: tuple[str, ...], after: tuple[str, ...], stream: Random) -> SlapScript:
        """The test with generated table, rows and queries. Raises UsageError for conflicting options."""
        load_type = self.load_type
        columns = self._columns()
        if load_type is LoadType.KEY and not columns.has_key:
            raise UsageError(
                "a load by key needs a key",
                "add --auto-generate-sql-add-autoincrement or --auto-generate-sql-guid-primary",
            )
        rows = check_range(
            "--auto-generate-sql-unique-write-number", self.auto_generate_sql_unique_write_number, 1
        )
        count = self.auto_generate_sql_unique_query_number
        made = generate_queries(
            load_type, columns, check_range("--auto-generate-sql-unique-query-number", count, 1), stream
        )
        inserts = [insert_query(columns, stream).sql for _ in range(rows)]
        return SlapScript(
            create=(create_sql(columns), *inserts),
            writes=check_range("--auto-generate-sql-write-number", self.auto_generate_sql_write_number, 1),
            queries=made,
            before=before,
            after=after,
            wants_keys=any(query.by_key for query in made),
        )

    @property
    def load_type(self) -> LoadType:
        """Load type by a prefix, such as its first letter as in mysqlslap. Raises UsageError for others."""
        for load_type in LoadType:
            if load_type.startswith(self.auto_generate_sql_load_type) and self.auto_generate_sql_load_type:
                return load_type
        raise UsageError(
            f"--auto-generate-sql-load-type is one of {', '.join(LoadType)}, "
            f"not '{self.auto_generate_sql_load_type}'"
        )

    def _columns(self) -> SlapColumns:
        if self.auto_generate_sql_add_autoincrement and self.auto_generate_sql_guid_primary:
            raise UsageError(
                "a table has one key",
                "either --auto-generate-sql-add-autoincrement or --auto-generate-sql-guid-primary",
            )
        integers, are_integers_indexed = _parse_columns("--number-int-cols", self.number_int_cols)
        texts, are_texts_indexed = _parse_columns("--number-char-cols", self.number_char_cols)
        if not integers + texts:
            raise UsageError("a table needs a column", "raise --number-int-cols or --number-char-cols")
        return SlapColumns(
            autoincrement=self.auto_generate_sql_add_autoincrement,
            guid=self.auto_generate_sql_guid_primary,
            secondary_indexes=check_range(
                "--auto-generate-sql-secondary-indexes", self.auto_generate_sql_secondary_indexes, 0, 60
            ),
            integers=integers,
            integers_indexed=are_integers_indexed,
            texts=texts,
            texts_indexed=are_texts_indexed,
        )


class StatementOptions(msgspec.Struct, frozen=True):
    """The user's own statements."""

    query: Annotated[
        str, typer.Option("-q", "--query", metavar="SQL|FILE", help="Queries of the clients: SQL, or a file.")
    ] = ""
    create: Annotated[
        str, typer.Option(metavar="SQL|FILE", help="Statements that create the tables: SQL, or a file.")
    ] = ""
    pre_query: Annotated[
        str, typer.Option(metavar="SQL|FILE", help="SQL or a file, run before the clients.")
    ] = ""
    post_query: Annotated[
        str, typer.Option(metavar="SQL|FILE", help="SQL or a file, run after the clients.")
    ] = ""
    delimiter: Annotated[
        str, typer.Option("-F", "--delimiter", metavar="TEXT", help="Separator of statements [end of line].")
    ] = "\n"

    @property
    def given(self) -> bool:
        return bool(self.query or self.create)

    def script(self) -> SlapScript:
        """The test with the user's queries. Raises UsageError if there are none."""
        found = self.parts("--query", self.query)
        if not found:
            raise UsageError("the clients have no queries to run", "give --query, or --auto-generate-sql")
        return SlapScript(
            create=self.parts("--create", self.create),
            queries=tuple(map(SlapQuery, found)),
            before=self.before,
            after=self.after,
        )

    @property
    def before(self) -> tuple[str, ...]:
        return self.parts("--pre-query", self.pre_query)

    @property
    def after(self) -> tuple[str, ...]:
        return self.parts("--post-query", self.post_query)

    def parts(self, name: str, text: str) -> tuple[str, ...]:
        """The statements of an option, whose value is the name of a file or SQL."""
        delimiter = ESCAPES.get(self.delimiter, self.delimiter)
        if not delimiter:
            raise UsageError("--delimiter is empty", "for example --delimiter=';'")
        try:
            read = files.read_text(Path(text)) if text and os.path.isfile(text) else text
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name}: cannot read {text}: {error}") from error
        return split_user_statements(read, delimiter)


def parse_concurrency(text: str) -> tuple[int, ...]:
    """Parse `16,32`. Raises UsageError for invalid numbers of clients."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--concurrency takes numbers separated by commas, not '{text}'") from error
    return tuple(check_range("--concurrency", clients, 1, MAX_THREADS) for clients in found)


def _parse_columns(name: str, text: str) -> tuple[int, bool]:
    """Parse `2`, or `2:1` for indexed columns."""
    number, _, indexed = text.partition(":")
    if not number.isdecimal() or indexed not in ("", "0", "1"):
        raise UsageError(f"{name} is a number of columns, with :1 after it to index them, not '{text}'")
    return check_range(name, int(number), 0, 1000), indexed == "1"


EXAMPLE_KEY = ("796c4422-1d94-102a-9d6d-00e0812d",)
"""Placeholder for the key of a row, as in mysqlslap."""


def dry_run_lines(spec: SlapSpec) -> Iterator[str]:
    """All statements, client by client."""
    drop = f"DROP SCHEMA IF EXISTS {quote_schema(spec.target.database)};"
    for engine in spec.engines or (None,):
        for clients in spec.clients:
            for _ in range(spec.iterations):
                yield from [drop] * spec.drops
                if spec.script.create:
                    yield f"CREATE SCHEMA {quote_schema(spec.target.database)};"
                    yield f"use {spec.target.database};"
                yield from (f"{sql};" for sql in spec.script.creation(engine))
                no_autocommit = ["SET AUTOCOMMIT=0;"] * bool(spec.commit)
                yield from no_autocommit
                yield from (f"{sql};" for sql in spec.script.before)
                for _ in range(clients):
                    yield from no_autocommit
                    yield from _client_lines(spec, clients)
                yield from (f"{sql};" for sql in spec.script.after)
        yield from [drop] * spec.drops


def _client_lines(spec: SlapSpec, clients: int) -> Iterator[str]:
    program = client_program(spec.script, spec.rhythm(clients), EXAMPLE_KEY)
    turns = program.turns
    if turns is None:
        return
    dealt = [turns.cycle[number % len(turns.cycle)] for number in range(turns.count)]
    for which in (*dealt, *turns.ending):
        (sql,) = program.transactions[which].steps[0].statements[0].sql
        yield f"{sql};"


CONTEXT = {"help_option_names": ["--help", "-?", "-I"]}
CLIENT_LIMITED_SHARE = 0.85


class ClientOptions(msgspec.Struct, frozen=True):
    """Number of clients, repetitions, and how each client runs its queries."""

    concurrency: Annotated[
        str,
        typer.Option(
            "-c", "--concurrency", metavar="N,…", help="Concurrent clients, or several numbers: 16,32."
        ),
    ] = "1"
    iterations: Annotated[int, typer.Option("-i", "--iterations", help="Repetitions of each test.")] = 1
    number_of_queries: Annotated[int, typer.Option(help="Total number of queries of all clients.")] = 0
    engine: Annotated[
        str,
        typer.Option(
            "-e", "--engine", metavar="NAME,…", help="Storage engines, one after the other: innodb,memory."
        ),
    ] = ""
    create_schema: Annotated[
        str, typer.Option(metavar="NAME", help=f"Schema to run in [{DEFAULT_SCHEMA}].")
    ] = ""
    commit: Annotated[int, typer.Option(help="Commit after this many queries.")] = 0
    detach: Annotated[int, typer.Option(help="Reconnect after this many queries.")] = 0
    no_drop: Annotated[bool, typer.Option("--no-drop", help="Keep the schema.")] = False
    drop_schema: Annotated[
        bool, typer.Option("--drop-schema", help="Allow dropping a schema that contains other tables.")
    ] = False
    pre_system: Annotated[
        str, typer.Option(metavar="COMMAND", help="Shell command, run before the clients.")
    ] = ""
    post_system: Annotated[
        str, typer.Option(metavar="COMMAND", help="Shell command, run after the clients.")
    ] = ""
    init_command: Annotated[str, typer.Option(metavar="SQL", help="SQL to run at each client's login.")] = ""
    rand_seed: Annotated[int, typer.Option(help="Seed of all random values; 0: a new one.")] = 0
    workers: Annotated[int, typer.Option(help="Worker processes; 0: by number of cores.")] = 0
    load_engine: Annotated[
        str, typer.Option(metavar="|".join(EngineChoice), help="As --engine of tuibench run.")
    ] = EngineChoice.AUTO

    def spec(self, target: Target, script: SlapScript, generation: GenerationOptions) -> SlapSpec:
        """Specification of the benchmark. Raises UsageError for numbers out of range."""
        generated = generation.auto_generate_sql
        executed = generation.auto_generate_sql_execute_number if generated else 0
        if executed and self.number_of_queries:
            raise UsageError(
                "how many queries?", "use either --auto-generate-sql-execute-number or --number-of-queries"
            )
        schema = self.create_schema or DEFAULT_SCHEMA
        check_not_system_schema(schema)
        # Parse `innodb,memory:max_rows=1000`.
        parts = [part.strip() for part in self.engine.split(",") if part.strip()]
        return SlapSpec(
            target=msgspec.structs.replace(target, database=schema),
            script=script,
            clients=parse_concurrency(self.concurrency),
            iterations=check_range("--iterations", self.iterations, 1),
            engines=tuple(
                StorageEngine(name, options) for name, _, options in (part.partition(":") for part in parts)
            ),
            load_type=generation.load_type if generated else OWN_QUERIES,
            queries_in_all=check_range("--number-of-queries", self.number_of_queries, 0),
            queries_per_client=check_range("--auto-generate-sql-execute-number", executed, 0),
            commit=check_range("--commit", self.commit, 0),
            detach=check_range("--detach", self.detach, 0),
            drops=bool(script.create) and not self.no_drop,
            may_drop=self.drop_schema,
            pre_system=self.pre_system,
            post_system=self.post_system,
            init_sql=self.init_command,
            seed=seed_or_random(self.rand_seed),
            workers=check_range("--workers", self.workers, 0, 1024) or None,
            load_engine=check_choice("--load-engine", self.load_engine, EngineChoice),
        )


class SlapReportOptions(msgspec.Struct, frozen=True):
    """Output of the benchmark, and its destinations."""

    only_print: Annotated[
        bool, typer.Option("--only-print", help="Print the statements without connecting.")
    ] = False
    csv: Annotated[
        str, typer.Option(metavar="FILE", help="CSV instead of the report: to a file, or to stdout.")
    ] = ""
    silent: Annotated[bool, typer.Option("-s", "--silent", help="No report.")] = False
    verbose: Annotated[
        int,
        typer.Option(
            "-v", "--verbose", count=True, show_default=False, help="Print the time of each iteration."
        ),
    ] = 0
    output: TextOrJson = TEXT

    def validate(self) -> None:
        """Raises UsageError for invalid values."""
        check_format(self.output)
        if self.output == JSON and self.csv == STDOUT:
            raise UsageError(ONE_FORMAT_ON_STDOUT, "give the other a file: --csv=FILE")

    def show(self, done: SlapBenchmark) -> None:
        """Print one benchmark as soon as it is finished."""
        if self.csv:
            write_output(self.csv, (slap_csv_row(done),), "a")
        elif self.output == TEXT and not self.silent:
            typer.echo(slap_report_text(done), nl=False)
        if not self.silent:
            for line in slap_extra_lines(done):
                info(line)
            if done.cpu_share > CLIENT_LIMITED_SHARE:
                info("warning: client-limited: the client used all of its CPU time; the server may do more")


def slap(
    server: ServerOptions,
    generation: GenerationOptions,
    statements: StatementOptions,
    shape: ClientOptions,
    report: SlapReportOptions,
) -> None:
    """The report on stdout has mysqlslap's labels; throughput, percentiles and the server's counters are
    reported on stderr. As with mysqlslap, a schema that the test creates is dropped before and after; a
    schema with other tables than mysqlslap's is dropped only with --drop-schema.
    """
    report.validate()
    script = _script(generation, statements, seed_or_random(shape.rand_seed))
    if report.only_print:
        spec = shape.spec(Target(), script, generation)
        for line in dry_run_lines(spec):
            typer.echo(line)
        return
    done = run_async(_run(shape.spec(server.target(), script, generation), report))
    if report.output == JSON:
        echo_json(done)


async def _run(spec: SlapSpec, report: SlapReportOptions) -> list[SlapBenchmark]:
    done = []
    async for benchmark in SlapRunner(spec, info, note=info if report.verbose else lambda _: None).run():
        report.show(benchmark)
        done.append(benchmark)
    return done


def _script(generation: GenerationOptions, statements: StatementOptions, seed: int) -> SlapScript:
    if not generation.auto_generate_sql:
        return statements.script()
    if statements.given:
        raise UsageError(
            "--auto-generate-sql generates what --create and --query specify", "leave out either"
        )
    return generation.script(statements.before, statements.after, Random(f"tuibench:slap:{seed}"))
