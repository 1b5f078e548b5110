"""How hard and how long to run: sysbench's options, and the profile's own behind them."""

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from tuibench import paths
from tuibench.errors import UsageError
from tuibench.model.plan import IGNORED_ERRORS, MAX_THREADS, OptionValue, Plan
from tuibench.model.target import Target
from tuibench.session.spec import SessionSpec

CONTEXT = {
    "help_option_names": ["--help"],
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": True,
}
"""Options the parser does not know are the profile's: --tables, --table-size, --point-selects, …"""

LARGEST_SEED = 2**31


def _option(*names: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help)
    return option


@dataclass(frozen=True)
class RunOptions:
    """Options of every command that drives a load."""

    threads: Annotated[
        int, _option("--threads", "--num-threads", help="Connections that work at a time.")
    ] = 1
    time: Annotated[float, _option("--time", "--max-time", help="Seconds to run; 0 for no limit.")] = 10
    interval: Annotated[float, _option("--interval", help="Seconds between samples.")] = 1
    percentile: Annotated[
        float, _option("--percentile", help="Percentile of the interval lines and summary; 0 for none.")
    ] = 95
    rand_seed: Annotated[int, _option("--rand-seed", help="Seed of all random values; 0 for a new one.")] = 0
    mysql_ignore_errors: Annotated[
        str, _option("--mysql-ignore-errors", help="Error numbers after which a transaction is tried again.")
    ] = ",".join(map(str, IGNORED_ERRORS))
    workers: Annotated[int, _option("--workers", help="Worker processes; 0 to choose by cores.")] = 0
    run_dir: Annotated[
        str, _option("--run-dir", help="Folder for everything written, instead of the usual ones.")
    ] = ""

    def plan(self, profile: str, profile_options: dict[str, OptionValue]) -> Plan:
        """The plan meant. Raises UsageError for numbers out of range."""
        _within("--threads", self.threads, 1, MAX_THREADS)
        _within("--time", self.time, 0, 10**9)
        _within("--interval", self.interval, 0.1, 3600)
        _within("--percentile", self.percentile, 0, 100)
        _within("--workers", self.workers, 0, 1024)
        if self.run_dir:
            os.environ["TUIBENCH_HOME"] = os.path.abspath(self.run_dir)
        return Plan(
            profile=profile,
            options=profile_options,
            threads=self.threads,
            seconds=self.time or None,
            interval_seconds=self.interval,
            seed=self.rand_seed or secrets.randbelow(LARGEST_SEED),
            percentile=self.percentile,
            ignored_errors=_numbers("--mysql-ignore-errors", self.mysql_ignore_errors),
            workers=self.workers or None,
        )


def session_spec(plan: Plan, target: Target, inherit_fds: tuple[int, ...] = ()) -> SessionSpec:
    """A session that starts now, named after its time and profile."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.path.basename(plan.profile).removesuffix('.toml')}"
    directory = paths.runs_dir() / stem
    number = 2
    while directory.exists():
        directory = paths.runs_dir() / f"{stem}-{number}"
        number += 1
    return SessionSpec(
        session=directory.name,
        plan=plan,
        target=target,
        run_directory=str(directory),
        inherit_fds=inherit_fds,
    )


def profile_options(arguments: Sequence[str]) -> dict[str, OptionValue]:
    """The profile's options in what the parser left over: `--name=value`, `--name value`, `--flag`."""
    options: dict[str, OptionValue] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("--"):
            raise UsageError(f"'{argument}' is not an option", "options look like --table-size=1000")
        name, equals, value = argument[2:].partition("=")
        if not equals and left and not left[0].startswith("--"):
            value = left.pop(0)
        options[name.replace("-", "_")] = value
    return options


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} must be between {low:,.12g} and {high:,.12g}, not {value:,.12g}")


def _numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise UsageError(f"{name} takes error numbers separated by commas, not '{text}'") from error
