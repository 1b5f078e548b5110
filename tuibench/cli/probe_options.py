"""How to probe, and those of the run's options that a probe takes, too."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from tuibench.cli.option_words import one_of, within
from tuibench.cli.run_options import RunOptions
from tuibench.errors import UsageError
from tuibench.metrics.objectives import objectives_in
from tuibench.model.limits import MAX_RATE, MAX_THREADS
from tuibench.model.plan import IGNORED_ERRORS, OptionValue, Plan
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity

LONGEST_STEP_SECONDS, LONGEST_SECONDS = 600.0, 86_400.0
SHORTEST_STEP_SECONDS, SHORTEST_SECONDS = 2.0, 10.0
WARMUP_SECONDS, INTERVAL_SECONDS = 3.0, 0.5
RATE_THREADS = 64


def _option(*names: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help)
    return option


@dataclass(frozen=True)
class ProbeOptions:
    """Options of `probe`."""

    by: Annotated[str, _option("--by", help="What is stepped up: threads, or rate (of --threads).")] = (
        Quantity.THREADS
    )
    slo: Annotated[
        list[str] | None,
        _option("--slo", help='What must hold: "p95<20ms", "errors<1%", "tps>500"; may be given again.'),
    ] = None
    max_step_time: Annotated[float, _option("--max-step-time", help="Seconds a step may take.")] = 8
    max_time: Annotated[float, _option("--max-time", help="Seconds that all of it may take.")] = 85
    min_threads: Annotated[int, _option("--min-threads", help="Threads to begin with.")] = 1
    max_threads: Annotated[
        int, _option("--max-threads", help="Threads to end with; 0: up to 1,024, or what the server allows.")
    ] = 0
    min_rate: Annotated[float, _option("--min-rate", help="With --by rate: the rate to begin with.")] = 0
    max_rate: Annotated[float, _option("--max-rate", help="With --by rate: the rate to end with.")] = 0
    threads: Annotated[int, _option("--threads", help="With --by rate: connections that work.")] = (
        RATE_THREADS
    )
    warmup_time: Annotated[float, _option("--warmup-time", help="Seconds to run before the first step.")] = (
        WARMUP_SECONDS
    )
    interval: Annotated[float, _option("--interval", help="Seconds between samples.")] = INTERVAL_SECONDS
    rand_seed: Annotated[int, _option("--rand-seed", help="Seed of all random values; 0 for a new one.")] = 0
    mysql_ignore_errors: Annotated[
        str, _option("--mysql-ignore-errors", help="Error numbers to try again after, or all.")
    ] = ",".join(map(str, IGNORED_ERRORS))
    on_error: Annotated[
        str, _option("--on-error", help="Any other error: stop, or continue with the next transaction.")
    ] = "stop"
    db_ps_mode: Annotated[
        str, _option("--db-ps-mode", help="auto: statements are prepared; disable: they are sent as text.")
    ] = "auto"
    isolation: Annotated[str, _option("--isolation", help="Isolation level of the load.")] = ""
    workers: Annotated[int, _option("--workers", help="Worker processes; 0 to choose by cores.")] = 0
    client_delay: Annotated[str, _option("--client-delay", help="Simulate a network: 20ms, …")] = "0"
    run_dir: Annotated[
        str, _option("--run-dir", help="Folder for everything written, instead of the usual ones.")
    ] = ""

    def plan(self, profile: str, profile_options: dict[str, OptionValue]) -> Plan:
        """The run meant, which is a probe. Raises UsageError for what cannot be."""
        order = self.order()
        by_threads = order.by is Quantity.THREADS
        plan = RunOptions(
            threads=self.min_threads if by_threads else self.threads,
            time=0,
            warmup_time=self.warmup_time,
            interval=self.interval,
            rand_seed=self.rand_seed,
            mysql_ignore_errors=self.mysql_ignore_errors,
            on_error=self.on_error,
            db_ps_mode=self.db_ps_mode,
            isolation=self.isolation,
            workers=self.workers,
            client_delay=self.client_delay,
            run_dir=self.run_dir,
        ).plan(profile, profile_options)
        return msgspec.structs.replace(plan, probe=order)

    def order(self) -> ProbeOrder:
        """What is to be probed."""
        by = one_of("--by", self.by, Quantity)
        within("--max-step-time", self.max_step_time, SHORTEST_STEP_SECONDS, LONGEST_STEP_SECONDS)
        within("--warmup-time", self.warmup_time, 0)
        within(
            "--max-time",
            self.max_time,
            SHORTEST_SECONDS + self.warmup_time,
            LONGEST_SECONDS + self.warmup_time,
        )
        within("--min-threads", self.min_threads, 1, MAX_THREADS)
        within("--max-threads", self.max_threads, 0, MAX_THREADS)
        within("--min-rate", self.min_rate, 0, MAX_RATE)
        within("--max-rate", self.max_rate, 0, MAX_RATE)
        least, most = (
            (float(self.min_threads), float(self.max_threads))
            if by is Quantity.THREADS
            else (self.min_rate, self.max_rate)
        )
        if most and most < least:
            raise UsageError(f"--max-{by} is below --min-{by}")
        objectives_in(tuple(self.slo or ()))
        return ProbeOrder(
            by=by,
            slo=tuple(self.slo or ()),
            least=least,
            most=most,
            step_seconds=self.max_step_time,
            seconds=self.max_time - self.warmup_time,
        )
