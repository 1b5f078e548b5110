"""`tuibench slap`: mysqlslap's benchmark with its options and report; additional figures go to stderr.

`--only-print` prints the statements in mysqlslap's format, without a server.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated

import click
import msgspec

from tuibench.cli.commands.slap.options import (
    GenerationOptions,
    StatementOptions,
    parse_concurrency,
    parse_engines,
)
from tuibench.cli.options.run_options import seed_or_random
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.files import write_output
from tuibench.cli.output.formats import JSON, ONE_FORMAT_ON_STDOUT, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.output.log import info
from tuibench.cli.parsing.arguments import STDOUT
from tuibench.cli.runner.event_loop import run_async
from tuibench.errors import UsageError
from tuibench.model.option import Option, check_choice, check_range
from tuibench.model.plan import EngineChoice
from tuibench.model.results.summary import OWN_QUERIES, SlapBenchmark
from tuibench.model.target import Target
from tuibench.record.report.mysqlslap_report import slap_csv_row, slap_extra_lines, slap_report_text
from tuibench.session.slap.runner import SlapRunner
from tuibench.session.slap.schema import DEFAULT_SCHEMA, check_not_system_schema, quote_schema
from tuibench.session.slap.spec import Hooks, SlapSpec
from tuibench.workload.slap.script import SlapScript, StorageEngine, client_program

EXAMPLE_KEY = ("796c4422-1d94-102a-9d6d-00e0812d",)
"""Placeholder for the key of a row, as in mysqlslap."""


def dry_run_lines(spec: SlapSpec) -> Iterator[str]:
    """All statements, client by client."""
    drop = f"DROP SCHEMA IF EXISTS {quote_schema(spec.target.database)};"
    for engine in spec.engines or (None,):
        for clients in spec.clients:
            for _ in range(spec.iterations):
                yield from [drop] * spec.drops
                yield from _iteration_lines(spec, engine, clients)
        yield from [drop] * spec.drops


def _iteration_lines(spec: SlapSpec, engine: StorageEngine | None, clients: int) -> Iterator[str]:
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


def _client_lines(spec: SlapSpec, clients: int) -> Iterator[str]:
    program = client_program(spec.script, spec.rhythm(clients), EXAMPLE_KEY)
    turns = program.turns
    if turns is None:
        return
    dealt = [turns.cycle[number % len(turns.cycle)] for number in range(turns.count)]
    for which in (*dealt, *turns.ending):
        (sql,) = program.transactions[which].steps[0].statements[0].sql
        yield f"{sql};"


__all__ = ["CONTEXT", "slap"]

CONTEXT = {"help_option_names": ["--help", "-?", "-I"]}
CLIENT_LIMITED_SHARE = 0.85


@dataclass(frozen=True)
class ClientOptions:
    """Number of clients, repetitions, and how each client runs its queries."""

    concurrency: Annotated[
        str,
        Option("-c", "--concurrency", metavar="N,…", help="Concurrent clients, or several numbers: 16,32."),
    ] = "1"
    iterations: Annotated[int, Option("-i", "--iterations", help="Repetitions of each test.")] = 1
    number_of_queries: Annotated[
        int, Option("--number-of-queries", help="Total number of queries of all clients.")
    ] = 0
    engine: Annotated[
        str,
        Option(
            "-e", "--engine", metavar="NAME,…", help="Storage engines, one after the other: innodb,memory."
        ),
    ] = ""
    create_schema: Annotated[
        str, Option("--create-schema", metavar="NAME", help=f"Schema to run in [{DEFAULT_SCHEMA}].")
    ] = ""
    commit: Annotated[int, Option("--commit", help="Commit after this many queries.")] = 0
    detach: Annotated[int, Option("--detach", help="Reconnect after this many queries.")] = 0
    no_drop: Annotated[bool, Option("--no-drop", help="Keep the schema.")] = False
    drop_schema: Annotated[
        bool, Option("--drop-schema", help="Allow dropping a schema that contains other tables.")
    ] = False
    pre_system: Annotated[
        str, Option("--pre-system", metavar="COMMAND", help="Shell command, run before the clients.")
    ] = ""
    post_system: Annotated[
        str, Option("--post-system", metavar="COMMAND", help="Shell command, run after the clients.")
    ] = ""
    init_command: Annotated[
        str, Option("--init-command", metavar="SQL", help="SQL to run at each client's login.")
    ] = ""
    rand_seed: Annotated[int, Option("--rand-seed", help="Seed of all random values; 0: a new one.")] = 0
    workers: Annotated[int, Option("--workers", help="Worker processes; 0: by number of cores.")] = 0
    load_engine: Annotated[
        str, Option("--load-engine", metavar="|".join(EngineChoice), help="As --engine of tuibench run.")
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
        return SlapSpec(
            target=msgspec.structs.replace(target, database=schema),
            script=script,
            clients=parse_concurrency(self.concurrency),
            iterations=check_range("--iterations", self.iterations, 1),
            engines=parse_engines(self.engine),
            load_type=generation.load_type if generated else OWN_QUERIES,
            queries_in_all=check_range("--number-of-queries", self.number_of_queries, 0),
            queries_per_client=check_range("--auto-generate-sql-execute-number", executed, 0),
            commit=check_range("--commit", self.commit, 0),
            detach=check_range("--detach", self.detach, 0),
            drops=bool(script.create) and not self.no_drop,
            may_drop=self.drop_schema,
            hooks=Hooks(self.pre_system, self.post_system),
            init_sql=self.init_command,
            seed=seed_or_random(self.rand_seed),
            workers=check_range("--workers", self.workers, 0, 1024) or None,
            load_engine=check_choice("--load-engine", self.load_engine, EngineChoice),
        )


@dataclass(frozen=True)
class SlapReportOptions:
    """Output and its destinations."""

    only_print: Annotated[bool, Option("--only-print", help="Print the statements without connecting.")] = (
        False
    )
    csv: Annotated[
        str, Option("--csv", metavar="FILE", help="CSV instead of the report: to a file, or to stdout.")
    ] = ""
    silent: Annotated[bool, Option("-s", "--silent", help="No report.")] = False
    verbose: Annotated[
        int,
        Option("-v", "--verbose", count=True, show_default=False, help="Print the time of each iteration."),
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
            click.echo(slap_report_text(done), nl=False)
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
            click.echo(line)
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
