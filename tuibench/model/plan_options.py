"""The options of each command that makes a plan, and the command line that makes a given plan again.

A command takes the options of a run, and those of the parts of a plan that it can have. `PLAN_COMMANDS` names
what it leaves out and its own defaults; everything else about an option is declared on its field.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.experiments.effect import AbTestPlan
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.experiments.tune import TunePlan
from tuibench.model.option import BoundOption, bind_options
from tuibench.model.plan import RunPlan

PARTS: Mapping[str, type] = {
    "": RunPlan,
    "cluster": ClusterPlan,
    "trial": AbTestPlan,
    "probe": ProbeOrder,
    "tune": TunePlan,
}
"""Structs with options, by the field of the plan that has them."""

REPORT = ("report_interval", "report_checkpoints", "histogram")
REPLICAS = ("replica", "max_lag")
SCHEDULE = ("plan", "ramp", "ramp_rate")
IDLE_THREADS = 0
PROBE_THREADS = 64
"""Connections of a probe by rate."""


@cache
def part_options(part: str) -> tuple[BoundOption, ...]:
    """The options of a part of the plan."""
    return tuple(bind_options(PARTS[part]))


class PlanCommand:
    """A command that makes a plan: the options it takes, by key, and its own defaults.

    `only` names the options of the run that it takes, instead of all but `without`. `low` is the least value
    of an option where it differs; `helps` are texts where an option means something else.
    """

    def __init__(
        self,
        *parts: str,
        without: Container[str] = (),
        only: Container[str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        low: Mapping[str, float] | None = None,
        helps: Mapping[str, str] | None = None,
        has_axes: bool = False,
    ) -> None:
        self.parts = parts
        self.defaults = defaults or {}
        self.low = low or {}
        self.helps = helps or {}
        self.has_axes = has_axes
        self._without = without
        self._only = only

    @cached_property
    def options(self) -> dict[str, tuple[str, BoundOption]]:
        """Each option by its key, with the part of the plan that has its field."""
        return {
            each.key: (part, each)
            for part in self.parts
            for each in part_options(part)
            if each.key not in self._without and (part or self._only is None or each.key in self._only)
        }

    def default(self, key: str) -> Any:
        """The value of an option that is not given."""
        return self.defaults[key] if key in self.defaults else self.options[key][1].default

    def is_axis(self, key: str) -> bool:
        """True if the option takes several values."""
        part, each = self.options[key]
        return self.has_axes and not part and each.option.axis


PLAN_COMMANDS = {
    "run": PlanCommand("", "cluster", "trial"),
    "live": PlanCommand(
        "",
        "cluster",
        "trial",
        without=REPORT,
        defaults={"time": None},
        low={"threads": IDLE_THREADS},
    ),
    "demo": PlanCommand(
        "", "cluster", "trial", without=(*REPORT, *REPLICAS, "host_metrics"), defaults={"threads": 8}
    ),
    "probe": PlanCommand(
        "",
        "cluster",
        "probe",
        without=(*REPORT, *SCHEDULE, "time", "events", "rate", "users"),
        defaults={
            "threads": PROBE_THREADS,
            "warmup_time": 3.0,
            "interval": 0.5,
            "min_threads": 1.0,
            "max_time": 85.0,
        },
        helps={
            "threads": "With --by rate: concurrent connections.",
            "warmup_time": "Seconds to run before the first step.",
        },
    ),
    "tune": PlanCommand("", "cluster", "tune", without=REPORT, defaults={"time": None}),
    "sweep": PlanCommand(
        "",
        "cluster",
        without=(*REPORT, *REPLICAS, *SCHEDULE, "threads", "events"),
        defaults={"time": 10.0, "warmup_time": 2.0},
        helps={
            "time": "Measured seconds of each cell.",
            "warmup_time": "Warm-up seconds of each cell.",
        },
        has_axes=True,
    ),
    "versions": PlanCommand(
        "",
        "cluster",
        without=(*REPORT, *REPLICAS, *SCHEDULE, "threads", "events", "host_metrics"),
        defaults={"time": 8.0, "warmup_time": 2.0},
        helps={"time": "Measured seconds of each run.", "warmup_time": "Warm-up seconds of each run."},
    ),
    "watch": PlanCommand(
        "",
        "trial",
        only=("time", "interval", "percentile", "rand_seed", "host_metrics", *REPLICAS),
        defaults={"time": None},
        helps={"time": "Seconds to watch; 0 for no limit."},
    ),
    "doctor": PlanCommand("", only=("threads", "rate")),
    "cluster": PlanCommand("cluster", without=("on_host_loss",)),
}


def command_of(plan: RunPlan) -> str:
    """The command that makes such a plan."""
    if plan.is_watch:
        return "watch"
    if plan.probe is not None:
        return "probe"
    if plan.tune is not None:
        return "tune"
    return "live" if plan.starts_idle else "run"


def given_options(plan: RunPlan, command: str) -> Iterator[tuple[BoundOption, Any]]:
    """The options that the command needs for this plan, with their values."""
    known = PLAN_COMMANDS[command]
    for key, (part, each) in known.options.items():
        holder = getattr(plan, part) if part else plan
        if holder is None or (each.option.when is not None and not each.option.when(plan)):
            continue
        value = each.value(holder, plan)
        if value != known.default(key) or (each.option.always is not None and each.option.always(plan)):
            yield each, value


def option_words(plan: RunPlan, command: str = "", without: Container[str] = ()) -> list[str]:
    """The words of the command line that make the plan again; `without` are keys of options to leave out."""
    return [
        word
        for each, value in given_options(plan, command or command_of(plan))
        if each.key not in without
        for word in each.words(value)
    ]


def sysbench_words(plan: RunPlan, without: Container[str] = ()) -> list[str]:
    """The same for sysbench, as far as it has the options."""
    words = []
    for _, each in PLAN_COMMANDS["run"].options.values():
        if not each.option.sysbench or each.key in without:
            continue
        is_default = getattr(plan, each.field) == SYSBENCH_DEFAULTS.get(each.key, each.default)
        if is_default and not (each.option.always and each.option.always(plan)):
            continue
        value = getattr(plan, each.field)
        text = each.option.sysbench(value) if callable(each.option.sysbench) else each.format(value)
        words.append(f"{each.name}={text}")
    return words


SYSBENCH_DEFAULTS = {"report_interval": 0.0}
"""Defaults of sysbench that differ from ours."""


def setup_rows(plan: RunPlan) -> Sequence[tuple[str, str]]:
    """Label and value of each option of the load that a reader of the report needs: those that are not the
    default, and those that every command line has.
    """
    return [
        (each.option.label or each.name.removeprefix("--").replace("-", " "), text)
        for each, value in given_options(plan, command_of(plan))
        if (text := "on" if value is True and each.is_switch else _row_text(each, value))
    ]


def _row_text(each: BoundOption, value: Any) -> str:
    if value is None and each.is_number:
        return "no limit"
    return ", ".join(value) if each.is_repeatable else each.format(value)
