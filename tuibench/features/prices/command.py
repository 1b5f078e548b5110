"""`tuibench prices`: what a millisecond of each service costs on a private server."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tuibench.base import units
from tuibench.base.errors import RunError, UsageError
from tuibench.cli import candidates
from tuibench.cli.options import CONTEXT, PrivateServerOptions, make_plan, split_profile_and_options
from tuibench.cli.output import check_format, check_writable, info, timestamp, write_output
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.event import REPORTED_KINDS, Event, EventKind
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.message import SessionMessage
from tuibench.model.option import check_range

if TYPE_CHECKING:
    from tuibench.session.load_run import LoadRun

__all__ = ["CONTEXT", "prices"]

SHORTEST_WINDOW, LONGEST_WINDOW = 1.0, 600.0
FEWEST_CYCLES, MOST_CYCLES = 3, 1000
SAMPLES_PER_WINDOW = 6


class PriceOptions(msgspec.Struct, frozen=True):
    """How long prices are measured, on which server, and where the list goes."""

    cycles: Annotated[
        int, typer.Option(help="Cycles; each has a window for every price and one without.")
    ] = 10
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a window.")] = 4.0
    server_program: Annotated[
        str,
        typer.Option(
            "--server", metavar="FILE", help="Server program, mariadbd or mysqld [the first one found]."
        ),
    ] = ""
    disk: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="The disk that the prices are of, if not the real one: fsync=2ms,read=0.3ms.",
        ),
    ] = "0"
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, markdown, html, or json.")
    ] = "text"
    out: Annotated[str, typer.Option(metavar="FILE", help="Write the list to this file, not to stdout.")] = ""


def prices(
    context: typer.Context,
    wanted: PriceOptions,
    options: Annotated[PlanValues, Takes("prices")],
    private: PrivateServerOptions,
    profile: Annotated[
        str,
        typer.Argument(
            autocompletion=candidates.profiles, help="A profile's name (oltp_read_write, …) or file."
        ),
    ] = "",
) -> None:
    """Starts a private server with new tables. An fsync, a page read, a page write and a round trip take a
    little longer, one at a time, in alternation with their present time. The list says what one more
    millisecond of each costs, and what a faster one would bring. All options of the profile are accepted,
    too: --tables=4 --table-size=100000.
    """
    from tuibench.cli.runner import private_server, run_async, run_in_process, spec_on_private_server
    from tuibench.cli.tables import make_tables
    from tuibench.features.prices.experiment import PriceExperiment, PriceOrder
    from tuibench.features.prices.text import FORMATS
    from tuibench.load.tables import LoadOptions
    from tuibench.workload import library

    check_format(wanted.form, tuple(FORMATS))
    check_range("--cycles", wanted.cycles, FEWEST_CYCLES, MOST_CYCLES)
    check_range("--window", wanted.window, SHORTEST_WINDOW, LONGEST_WINDOW)
    check_writable(wanted.out)
    disk = parse_hardware(wanted.disk)
    if not profile:
        raise UsageError("missing argument 'profile'", "give one, such as oltp_read_write")
    named = split_profile_and_options(profile, context.args)
    plan = make_plan(options, *named)
    plan = msgspec.structs.replace(
        plan, seconds=None, interval_seconds=min(plan.interval_seconds, wanted.window / SAMPLES_PER_WINDOW)
    )
    order = PriceOrder(cycles=wanted.cycles, window_seconds=wanted.window, seed=plan.seed)

    async def plan_prices(run: "LoadRun") -> None:
        simulated, load = run.watcher.hardware, run.load
        experiment = PriceExperiment(
            order,
            load.threads,
            simulated.present or Hardware(),
            load.client_delay_ms,
            lambda: simulated.counts,
        )
        await run.laboratory.plan(experiment)
        server = run.watcher.server
        info(f"{server.version_text}, {run.data_set}; at most {units.duration(order.seconds)}")

    program = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
    with private_server(wanted.server_program, private, disk=disk) as server:
        run_async(make_tables(server.target, program, LoadOptions()))
        spec = spec_on_private_server(plan, server)
        summary, code = run_async(run_in_process(spec, _tell, plan_prices))
        if summary.prices is None:
            raise RunError(summary.failure or "the price list ended before its first window")
        write_output(wanted.out, (FORMATS[wanted.form](summary.prices),))
        info(f"recorded in {spec.run_directory}")
    raise typer.Exit(code)


def _tell(message: SessionMessage) -> None:
    is_news = isinstance(message, Event) and message.kind in REPORTED_KINDS - {EventKind.RECONNECT}
    if is_news and isinstance(message, Event):
        info(f"{timestamp(message.elapsed_seconds)} {message.text}")
