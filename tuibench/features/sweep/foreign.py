"""The part of a measurement recorded by somebody else that may be run on this host.

The recorded plan is not executed as it is: whoever made the file may have written anything into it. A new
plan is made from the options of a load (`MEASURED`), each value parsed as on the command line.

The user must consent to what acts on this host or on the whole server: statements and commands of `--at`,
server options that are not values of settings, and statements of a profile that do more than read and write
rows. Addresses and paths of the other host are left out.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.model.cluster import AGENT_PROGRAM
from tuibench.model.option import BoundOption, check_range
from tuibench.model.plan import PLAN_COMMANDS, OptionValue, RunPlan
from tuibench.model.sweep import ServerBuild, SweepCase, SweepPlan, SweepRecord, SweepVariant
from tuibench.observe.host_facts import is_recorded_variable
from tuibench.report.reproduce import option_arguments, shell_line
from tuibench.tuning import catalogue
from tuibench.workload import library, script
from tuibench.workload.program import Program, flat_statements
from tuibench.workload.sql import only_reads_and_writes

MEASURED = frozenset(
    {
        "arrival", "attempts", "backlog", "backoff", "breaker", "client_delay", "connect_rate", "db_ps_mode",
        "deadline", "engine", "events", "figure", "idle_connections", "interval", "isolation", "max_retries",
        "mysql_ignore_errors", "no_black_box", "no_keys", "no_waits", "on_deadline", "on_error", "percentile",
        "plan", "queue", "rand_seed", "rate", "reconnect", "retry_budget", "thread_init_timeout", "threads",
        "time", "users", "warmup_time", "workers",
    }
)  # fmt: skip
"""The keys of a load's options: no other option of a foreign plan is used."""

LEFT_OUT = frozenset(
    {
        "cpu_profile", "guard", "histogram", "host_metrics", "max_lag", "ramp", "ramp_rate", "replica",
        "report_checkpoints", "report_interval",
    }
)  # fmt: skip
"""Options of a run that a reproduction does not need, or that name addresses or paths of the other host."""

_OPTIONS = {key: each for key, (_, each) in PLAN_COMMANDS["run"].options.items()}
_AXES = {_OPTIONS[key].field: _OPTIONS[key] for key in MEASURED if _OPTIONS[key].option.axis}
_PLAIN = re.compile(r"(?!.*\.\.)[\w+-][\w.,:;%*+-]*|", re.ASCII)
"""A value that contains no path."""


class Foreign(NamedTuple):
    """The measurement as it may be run on this host."""

    plan: SweepPlan
    builds: tuple[ServerBuild, ...]
    asks: tuple[str, ...]
    """Parts of the plan that are run only with consent, as text for the user."""
    left_out: tuple[str, ...]
    """Options of the recorded plan that are never run, as on the command line."""


def checked(plan: SweepPlan, builds: Sequence[ServerBuild], most_repeats: int) -> Foreign:
    """The part of a foreign plan that may be run here; `builds` name server programs of this host.

    Raises UsageError for a value that the command line would refuse.
    """
    if not (plan.cases and plan.variants and plan.threads and builds):
        raise UsageError("the bundle has no case, no server or no number of threads")
    base = checked_plan(plan.base)
    threads = tuple(int(_checked("threads", each)) for each in plan.threads)
    cases = tuple(SweepCase(**_fields(each)) for each in plan.cases)
    variants = tuple(map(_checked_variant, plan.variants))
    names = [build.name for build in builds]
    if len(set(names)) < len(names) or {variant.server or variant.name for variant in variants} != set(names):
        raise UsageError("the bundle's servers are not those of its plan")
    programs = [_program(case, max(threads), base.profile_text) for case in cases]
    asks = [
        *(f"--at {seconds:g}s {what}" for seconds, what in plan.base.interventions),
        *(f"server option {each}" for build in builds for each in build.options if not is_setting(each)),
        *(line for program in programs for line in _statements(program)),
    ]
    made = SweepPlan(
        cases=cases,
        variants=variants,
        threads=threads,
        repeats=check_range("--starts", plan.repeats, 1, most_repeats),
        order=plan.order,
        base=replace(base, interventions=plan.base.interventions),
        prepare=True,
        start=plan.start,
    )
    return Foreign(
        made,
        tuple(map(_checked_build, builds)),
        tuple(dict.fromkeys(asks)),
        tuple(dict.fromkeys(_places(plan.base))),
    )


def acting(record: SweepRecord) -> tuple[str, ...]:
    """Everything that a recorded sweep runs and reaches, as text for the user.

    Raises UsageError for a profile in the record that is none.
    """
    base = record.plan.base
    setup = record.versions or record.servers
    texts = [
        library.load_program(case.profile, {**case.options, "threads": 1}, base.profile_text)
        for case in record.plan.cases
        if base.profile_text
    ]
    where = (
        [f"server program {shlex.join((each.path, *each.options))}" for each in setup.builds]
        if setup is not None
        else [f"load on {record.target}"]
    )
    return (
        *where,
        *(f"--at {seconds:g}s {what}" for seconds, what in base.interventions),
        *_places(base),
        *(
            f"setting {name}={value}"
            for variant in record.plan.variants
            for name, value in variant.settings.items()
        ),
        *dict.fromkeys(
            f"profile {shell_line([case.profile, *option_arguments(case.options)])}"
            for case in record.plan.cases
        ),
        *dict.fromkeys(line for text in texts for line in _statements(text)),
    )


def _statements(program: Program) -> Iterator[str]:
    """The statements that do more than read and write rows."""
    for each in flat_statements(program):
        if not only_reads_and_writes(each.sql):
            yield f"statement {each.sql}"


def _places(base: RunPlan) -> list[str]:
    """Options that name hosts, or commands that reach them or start programs there."""
    return [
        *(f"--cluster={place}" for place in (base.cluster.places if base.cluster else ())),
        *(
            [f"--cluster-program={base.cluster.program}"]
            if base.cluster is not None and base.cluster.program != AGENT_PROGRAM
            else []
        ),
        *[f"--host-metrics={base.host_metrics}"] * bool(base.host_metrics),
        *(f"--replica={each}" for each in base.replicas),
    ]


def checked_plan(plan: RunPlan) -> RunPlan:
    """A plan with the options of the load only. Raises UsageError for a value that its option refuses."""
    values = {
        each.field: _checked(key, each.value(plan, plan))
        for key, each in _OPTIONS.items()
        if key in MEASURED and each.value(plan, plan) != each.default
    }
    return RunPlan(profile=plan.profile, profile_text=plan.profile_text, **values)


def _checked(key: str, value: Any) -> Any:
    """The value, formatted and parsed again as on the command line."""
    option = _OPTIONS[key]
    return bool(value) if option.is_switch else option.parse(option.format(value) or str(value))


def _checked_variant(variant: SweepVariant) -> SweepVariant:
    for name, value in variant.settings.items():
        catalogue.find_setting(name)
        if not _PLAIN.fullmatch(value):
            raise UsageError(f"{name}={value} is no value of a setting")
    if variant.preset:
        catalogue.find_preset(catalogue.all_presets(), variant.preset)
    if unknown := sorted(variant.load.keys() - _AXES.keys()):
        raise UsageError(f"a variant of the bundle sets {unknown[0]}, which is no option of a load")
    load = {name: _checked_axis(_AXES[name], value) for name, value in variant.load.items()}
    return SweepVariant(**_fields(variant) | {"load": load})


def _checked_axis(option: BoundOption, value: OptionValue) -> OptionValue:
    # A truth value is an integer for Python, and no number on the command line.
    parsed = option.parse(str(value) if isinstance(value, str | bool) else option.format(value))
    found: OptionValue = 0 if parsed is None else msgspec.to_builtins(parsed)
    return found


def _checked_build(build: ServerBuild) -> ServerBuild:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", build.version, re.ASCII):
        raise UsageError(f"'{build.version}' is not the version of a server")
    return ServerBuild(
        name=build.name,
        path="",
        flavour=build.flavour,
        version=build.version,
        options=build.options,
        settings=build.settings,
        limits=build.limits,
    )


def is_setting(option: str) -> bool:
    """True for a server option that sets a variable of the settings catalogue to a value without a path."""
    name, _, value = option.removeprefix("--").removeprefix("loose-").partition("=")
    names = {each.replace("-", "_") for each in (name, name.removeprefix("skip-"))}
    is_recorded = option.startswith("--") and any(map(is_recorded_variable, names))
    return is_recorded and _PLAIN.fullmatch(value) is not None


def _program(case: SweepCase, threads: int, text: str) -> Program:
    """The program of a case, whose profile is a built-in one or part of the bundle."""
    plain = case.profile.removesuffix(script.SUFFIX)
    if not text and ("/" in plain or plain not in library.available_profiles()):
        raise UsageError(
            f"the profile {case.profile} is not in the bundle",
            "a script or a profile file is run with sweep and --server, once you have read it",
        )
    return library.load_program(case.profile, {**case.options, "threads": threads}, text)


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
