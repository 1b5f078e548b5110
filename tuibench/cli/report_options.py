"""What a run without a screen prints and leaves, and what it fails for: sysbench's options, and our own."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec
import typer

from tuibench.cli.arguments import STDOUT
from tuibench.cli.driving import Output
from tuibench.cli.formats import ONE_FORM
from tuibench.cli.option_words import checkpoints, switch
from tuibench.errors import UsageError
from tuibench.metrics import threshold
from tuibench.model.plan import Plan

INSTEAD = "take it from its folder, or with tuibench ctl ID stop --wait --format json"


@dataclass(frozen=True)
class ReportOptions:
    """Options of `run`."""

    SECTION: ClassVar = "What it prints and leaves"

    report_interval: Annotated[
        float, typer.Option("--report-interval", help="Seconds between interval lines; 0 for none.")
    ] = 1
    report_checkpoints: Annotated[
        str,
        typer.Option(
            "--report-checkpoints", help="Seconds (10,60,…) at which to print a full report and count anew."
        ),
    ] = ""
    histogram: Annotated[
        str, typer.Option("--histogram", help="on: print the distribution of the latencies.")
    ] = "off"
    verbosity: Annotated[
        int, typer.Option("--verbosity", help="5: all … 3: lines and summary … 0: nothing but errors.")
    ] = 3
    json_file: Annotated[
        str,
        typer.Option(
            "--json",
            help="Write the summary to this file as JSON; - for stdout, the rest then goes to stderr.",
        ),
    ] = ""
    csv_file: Annotated[
        str,
        typer.Option(
            "--csv", help="Write a row for each interval to this file; - for stdout, as with --json."
        ),
    ] = ""
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", help=f"End with exit code 4 if this holds: {threshold.EXAMPLES}, …"),
    ] = None

    def plan(self, plan: Plan) -> Plan:
        """The plan with its checkpoints and its lines. Raises UsageError for what is none."""
        return msgspec.structs.replace(
            plan,
            checkpoints=checkpoints(self.report_checkpoints),
            report_seconds=self.report_interval,
            histogram=switch("--histogram", self.histogram),
        )

    def output(self, interval_seconds: float) -> Output:
        """What is meant, with samples this often. Raises UsageError for what cannot be meant."""
        taken = [
            name for name, path in (("--json", self.json_file), ("--csv", self.csv_file)) if path == STDOUT
        ]
        if len(taken) > 1:
            raise UsageError(ONE_FORM, "give the other a file: --csv=run.csv")
        return Output(
            self.report_interval,
            switch("--histogram", self.histogram),
            self.verbosity,
            csv=self.csv_file,
            csv_seconds=self.report_interval or interval_seconds,
            thresholds=tuple(threshold.parse(text) for text in self.fail_if or ()),
            is_stdout_taken=bool(taken),
        )

    def demand_none_waits(self) -> None:
        """Raises UsageError for what a run in the background cannot leave to its starter."""
        given = {"--json": self.json_file, "--csv": self.csv_file, "--fail-if": self.fail_if}
        for name, value in given.items():
            if value:
                raise UsageError(f"{name} cannot wait for a run in the background", INSTEAD)
