"""`tuibench slap`: mysqlslap's test with its options and its report, and on stderr what that lacks."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer

from tuibench.cli import slap_print
from tuibench.cli.arguments import STDOUT
from tuibench.cli.formats import JSON, ONE_FORM, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.option_words import within
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.slap_options import (
    Generation,
    Statements,
    clients_in,
    engines_in,
    seed_of,
)
from tuibench.cli.talk import say
from tuibench.errors import UsageError
from tuibench.model.slap import OWN_QUERIES, Benchmark
from tuibench.model.target import Target
from tuibench.record.slap import csv_row, further_lines, report_text
from tuibench.session.slap.runner import Slapper
from tuibench.session.slap.schema import DEFAULT_SCHEMA, demand_no_system_schema
from tuibench.session.slap.spec import Hooks, SlapSpec
from tuibench.workload.slap.script import Script

__all__ = ["CONTEXT", "slap"]

DETAILS = (
    "The report on stdout is mysqlslap's, label for label; throughput, percentiles and the server's counters "
    "are told on stderr. As with mysqlslap, the schema is dropped before and after, if there is something to "
    "create; but never one that holds more than mysqlslap's table, unless --drop-schema is given."
)
CONTEXT = {"help_option_names": ["--help", "-?", "-I"]}
LIMITED_SHARE = 0.85


def _option(*names: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help)
    return option


@dataclass(frozen=True)
class Shape:
    """How many clients, how often, and how each goes through its queries."""

    concurrency: Annotated[
        str, _option("-c", "--concurrency", help="Clients at a time, or several: 16,32.")
    ] = "1"
    iterations: Annotated[int, _option("-i", "--iterations", help="How often each is run.")] = 1
    number_of_queries: Annotated[
        int, _option("--number-of-queries", help="Queries of all clients together.")
    ] = 0
    engine: Annotated[
        str, _option("-e", "--engine", help="Storage engines, one after the other: innodb,memory.")
    ] = ""
    create_schema: Annotated[
        str, _option("--create-schema", help=f"The schema to run in [{DEFAULT_SCHEMA}].")
    ] = ""
    commit: Annotated[int, _option("--commit", help="Commit after so many queries.")] = 0
    detach: Annotated[int, _option("--detach", help="Log in anew after so many queries.")] = 0
    no_drop: Annotated[bool, _option("--no-drop", help="Leave the schema there.")] = False
    drop_schema: Annotated[
        bool, _option("--drop-schema", help="The schema may be dropped though it holds other tables.")
    ] = False
    pre_system: Annotated[str, _option("--pre-system", help="Shell command, run before the clients.")] = ""
    post_system: Annotated[str, _option("--post-system", help="Shell command, run after the clients.")] = ""
    init_command: Annotated[str, _option("--init-command", help="SQL to run at each client's login.")] = ""
    rand_seed: Annotated[int, _option("--rand-seed", help="Seed of all random values; 0: a new one.")] = 0
    workers: Annotated[int, _option("--workers", help="Worker processes; 0 to choose by cores.")] = 0

    def spec(self, target: Target, script: Script, generation: Generation) -> SlapSpec:
        """The test that is meant. Raises UsageError for numbers out of range."""
        generated = generation.auto_generate_sql
        executed = generation.auto_generate_sql_execute_number if generated else 0
        if executed and self.number_of_queries:
            raise UsageError(
                "how many queries?", "either --auto-generate-sql-execute-number or --number-of-queries"
            )
        schema = self.create_schema or DEFAULT_SCHEMA
        demand_no_system_schema(schema)
        return SlapSpec(
            target=msgspec.structs.replace(target, database=schema),
            script=script,
            clients=clients_in(self.concurrency),
            iterations=within("--iterations", self.iterations, 1),
            engines=engines_in(self.engine),
            load_type=generation.load_type if generated else OWN_QUERIES,
            queries_in_all=within("--number-of-queries", self.number_of_queries, 0),
            queries_per_client=within("--auto-generate-sql-execute-number", executed, 0),
            commit=within("--commit", self.commit, 0),
            detach=within("--detach", self.detach, 0),
            drops=bool(script.create) and not self.no_drop,
            may_drop=self.drop_schema,
            hooks=Hooks(self.pre_system, self.post_system),
            init_sql=self.init_command,
            seed=seed_of(self.rand_seed),
            workers=within("--workers", self.workers, 0, 1024) or None,
        )


@dataclass(frozen=True)
class Report:
    """What is printed, and where."""

    only_print: Annotated[
        bool, _option("--only-print", help="Connect to nothing; print what would be sent.")
    ] = False
    csv: Annotated[str, _option("--csv", help="CSV instead of the report: to a file, or to stdout.")] = ""
    silent: Annotated[bool, _option("-s", "--silent", help="No report.")] = False
    verbose: Annotated[
        int,
        typer.Option(
            "-v", "--verbose", count=True, show_default=False, help="Tell what each iteration took."
        ),
    ] = 0
    output: TextOrJson = TEXT

    def demand_sane(self) -> None:
        """Raises UsageError for what cannot be meant."""
        demand_format(self.output)
        if self.output == JSON and self.csv == STDOUT:
            raise UsageError(ONE_FORM, "give the other a file: --csv=FILE")

    def show(self, done: Benchmark) -> None:
        """One benchmark, as soon as it is done."""
        if self.csv:
            self._append(csv_row(done))
        elif self.output == TEXT and not self.silent:
            typer.echo(report_text(done), nl=False)
        if not self.silent:
            for line in further_lines(done):
                say(line)
            if done.cpu_share > LIMITED_SHARE:
                say("warning: client-limited: the client was busy all the time, the server may not have been")

    def _append(self, row: str) -> None:
        if self.csv == STDOUT:
            typer.echo(row, nl=False)
            return
        try:
            with Path(self.csv).open("a", encoding="utf-8") as file:
                file.write(row)
        except OSError as error:
            raise UsageError(f"cannot write {self.csv}: {error.strerror}") from error


@grouped
def slap(
    server: ServerOptions, generation: Generation, statements: Statements, shape: Shape, report: Report
) -> None:
    report.demand_sane()
    script = _script(generation, statements, seed_of(shape.rand_seed))
    if report.only_print:
        spec = shape.spec(Target(), script, generation)
        for line in slap_print.lines(spec):
            typer.echo(line)
        return
    done = run_async(_run(shape.spec(server.target(), script, generation), report))
    if report.output == JSON:
        echo_json(done)


async def _run(spec: SlapSpec, report: Report) -> list[Benchmark]:
    done = []
    async for benchmark in Slapper(spec, say, note=say if report.verbose else lambda _: None).run():
        report.show(benchmark)
        done.append(benchmark)
    return done


def _script(generation: Generation, statements: Statements, seed: int) -> Script:
    if not generation.auto_generate_sql:
        return statements.script()
    if statements.given:
        raise UsageError("--auto-generate-sql makes up what --create and --query say", "leave out either")
    return generation.script(statements.before, statements.after, Random(f"tuibench:slap:{seed}"))
