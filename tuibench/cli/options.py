"""Groups of options that several commands share, and the plan of a run that is made from them.

The options of a load are declared on the fields of the plan, see `model/plan.py`. The options of a profile
are the arguments that the parser does not know. Defaults of a screen are in the sections [screen] and [keys]
of the configuration file.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import typer
from msgspec.structs import replace

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.cli import candidates
from tuibench.cli.output import info
from tuibench.cli.typer_command import PlanValues
from tuibench.cli.usage_errors import HOSTS_OPTION, WITHOUT_HOSTS, option_hint
from tuibench.model import effect
from tuibench.model.callers import check_policy
from tuibench.model.cluster import DASK_SCHEMES, ClusterPlan, parse_places
from tuibench.model.option import check_choice, check_range
from tuibench.model.plan import GRACE_SECONDS, OptionValue, RunPlan
from tuibench.model.probe import MAX_SECONDS, MIN_SECONDS, ProbeOrder, check_recovery
from tuibench.model.schedule import Quantity, first_level, parse_size, total_seconds
from tuibench.model.server import ServerLimits
from tuibench.model.sweep import ServerBuild, Start, SweepPlan

if TYPE_CHECKING:
    from tuibench.model.effect import AbTestPlan
    from tuibench.model.message import Address, SessionSpec
    from tuibench.model.tune import TunePlan
    from tuibench.servers.binaries import Binary
    from tuibench.tui.styled_app import DisplayOptions
    from tuibench.workload.adhoc_sql import AdhocTransaction


CONTEXT = {
    "help_option_names": ["--help"],
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": True,
}
"""Settings of a parser that leaves unknown options to the profile: --tables, --table-size, --point-selects"""


def split_profile_and_options(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """The name and the options of a profile, in any order, as in sysbench.

    `first` is the parser's first positional argument, which may be an option of the profile.
    """
    from tuibench.workload import library

    if not first.startswith("--"):
        return first, parse_profile_options(arguments)
    words = [first, *arguments]
    for place, word in enumerate(words):
        follows_option = place > 0 and words[place - 1].startswith("--") and "=" not in words[place - 1]
        if not word.startswith("--") and (not follows_option or word in library.available_profiles()):
            return word, parse_profile_options(words[:place] + words[place + 1 :])
    raise UsageError("no profile is named", "give one, such as oltp_read_write, or your own SQL with --sql")


def parse_profile_options(arguments: Sequence[str]) -> dict[str, OptionValue]:
    """Parse the profile's options among the remaining arguments: `--name=value`, `--name value`, `--flag`."""
    options: dict[str, OptionValue] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("--"):
            raise UsageError(f"'{argument}' is not an option", option_hint(argument))
        name, equals, value = argument[2:].partition("=")
        if re.fullmatch(HOSTS_OPTION, f"--{name.replace('_', '-')}"):
            raise UsageError(f"--{name} {WITHOUT_HOSTS}", "leave it out here")
        if not equals and left and not left[0].startswith("--"):
            value = left.pop(0)
        options[name.replace("-", "_")] = value
    return options


class AdhocSqlOptions(msgspec.Struct, frozen=True):
    """The user's own SQL, for every command with a load."""

    SECTION: ClassVar = "Your own SQL"

    sql: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SQL", help="Your own transaction, instead of a profile: 'SELECT … WHERE id=:id'."
        ),
    ] = None
    sql_file: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="The same from a file, one transaction per file.")
    ] = None
    sql_param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=DRAW", help="Values of a :name: id=1..1000, city=Rome|Oslo, x=id % 10, …"),
    ] = None
    sql_weights: Annotated[
        str, typer.Option(metavar="N/N", help="Relative weights of the transactions: 9/1.")
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.sql or self.sql_file)

    def text(self) -> str:
        """The text of a profile with the user's SQL; empty without SQL.

        Raises UsageError with the position of an error in the SQL.
        """
        from tuibench.model.schedule import parse_weights
        from tuibench.workload.adhoc_sql import adhoc_profile_text, number_transactions, parse_parameter

        if not self.is_given:
            if self.sql_param or self.sql_weights:
                raise UsageError("there is no SQL to go with it", "give it with --sql or --sql-file")
            return ""
        texts = [
            *number_transactions(self.sql or []),
            *(_read_sql_file(path) for path in self.sql_file or []),
        ]
        names = [text.name for text in texts]
        weights = parse_weights(self.sql_weights, names) if self.sql_weights else {}
        parameters = dict(parse_parameter(text) for text in self.sql_param or [])
        return adhoc_profile_text(texts, parameters, [weights.get(name, 1.0) for name in names])

    def profile_and_options(
        self, profile: str, arguments: Sequence[str]
    ) -> tuple[str, dict[str, OptionValue]]:
        """The name and the options of the profile. Raises UsageError for a name together with own SQL."""
        from tuibench.workload.adhoc_sql import ADHOC_PROFILE

        if not self.is_given:
            if not profile:
                raise UsageError(
                    "missing argument 'profile'",
                    "give one, such as oltp_read_write, or your own SQL with --sql",
                )
            return split_profile_and_options(profile, arguments)
        if profile and not profile.startswith("--"):
            raise UsageError(f"there is a profile, {profile}, and --sql", "give one of them")
        return ADHOC_PROFILE, parse_profile_options([profile, *arguments] if profile else arguments)

    def apply_to(self, plan: RunPlan) -> RunPlan:
        """The plan with the user's SQL. Raises UsageError if the resulting profile is invalid."""
        from tuibench.workload import library
        from tuibench.workload.adhoc_sql import ADHOC_PROFILE

        if text := self.text():
            library.parse_profile(text, ADHOC_PROFILE)
            return msgspec.structs.replace(
                plan, profile=ADHOC_PROFILE, profile_text=text, sql_words=tuple(self._words())
            )
        return plan

    def _words(self) -> Iterator[str]:
        """These options as words of a command line that repeats the run."""
        yield from (f"--sql={text}" for text in self.sql or ())
        yield from (f"--sql-file={path}" for path in self.sql_file or ())
        yield from (f"--sql-param={text}" for text in self.sql_param or ())
        if self.sql_weights:
            yield f"--sql-weights={self.sql_weights}"


def _read_sql_file(path: str) -> AdhocTransaction:
    from tuibench.base import files
    from tuibench.workload.adhoc_sql import AdhocTransaction

    try:
        text = files.read_text(files.expand_path(path), pipes=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--sql-file: cannot read {path}: {error}") from error
    stem = "".join(letter if letter.isalnum() else "_" for letter in Path(path).stem.lower())
    return AdhocTransaction(stem or "file", path, text)


class StartOptions(msgspec.Struct, frozen=True):
    """The state of the server at the start of each cell of a sweep or comparison."""

    start: Annotated[
        str,
        typer.Option(
            metavar="STATE",
            help="Each run begins as-is; or with clean pages, no old row versions and the same data, and a "
            "warm or cold buffer pool.",
        ),
    ] = "as-is"

    def applied(self, plan: SweepPlan, *, is_private: bool) -> SweepPlan:
        """The plan with this state. Raises UsageError for an unknown state, or one that is not possible."""
        start = Start(check_choice("--start", self.start, tuple(Start)))
        if start is Start.COLD and not is_private:
            raise UsageError(
                "a cold buffer pool needs a restart of the server", "--server=mariadbd, or --start=warm"
            )
        return replace(plan, start=start)


class PrivateServerOptions(msgspec.Struct, frozen=True):
    """Options of private servers, in addition to those set by tuibench. A sweep takes several files and
    limits.
    """

    SECTION: ClassVar = "Private servers"

    my_cnf: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Option file with settings of the server; its folders and ports are ignored. A sweep takes "
            "several: a.cnf,b.cnf.",
        ),
    ] = ""
    mysqld_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="An option of the server, overrides --my-cnf: NAME=VALUE; repeatable."
        ),
    ] = None
    cpus: Annotated[
        str,
        typer.Option(help="CPUs that the server may use: 2, 1.5; by a control group, otherwise by affinity."),
    ] = ""
    memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Memory of the server: 4G; by a control group, otherwise only the size of its buffer pool.",
        ),
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.my_cnf or self.mysqld_option or self.cpus or self.memory)

    def limits(self) -> ServerLimits:
        """The resource limits. Raises UsageError for several limits, or limits beyond this host's
        resources.
        """
        found = self.every_limit()
        if len(found) > 1:
            raise UsageError("--cpus and --memory take one value each here", "tuibench sweep takes several")
        return found[0]

    def every_limit(self) -> list[ServerLimits]:
        """Every combination of the CPUs and memory sizes. Raises UsageError as `limits` does."""
        from tuibench.model.option import parse_words
        from tuibench.servers.limits import check_limits

        cpus: list[float | None] = [None]
        sizes: list[int | None] = [None]
        if self.cpus:
            cpus = [_cpus(word) for word in parse_words("--cpus", self.cpus)]
        if self.memory:
            sizes = [_memory(word) for word in parse_words("--memory", self.memory)]
        found = [ServerLimits(cpus=count, memory_bytes=size) for count in cpus for size in sizes]
        for limits in found:
            check_limits(limits)
        if len(set(found)) < len(found):
            raise UsageError("--cpus and --memory name the same limits twice", "leave one of them out")
        return found

    def build(self, name: str, binary: Binary) -> ServerBuild:
        """The build of a server program with these options. Raises UsageError for several option files."""
        found = self.builds(name, binary)
        if len(found) > 1:
            raise UsageError("--my-cnf takes one file here", "tuibench sweep takes several")
        return found[0][1]

    def builds(self, name: str, binary: Binary) -> list[tuple[str, ServerBuild]]:
        """A build of the program for each option file, with the file's name; later options take precedence.

        Options of a file that are left out are reported.
        """
        from tuibench.model.option import parse_words
        from tuibench.servers.process import read_server_options

        found = []
        files = parse_words("--my-cnf", self.my_cnf) if self.my_cnf else [""]
        stems = [Path(file).stem for file in files]
        for file, stem in zip(files, stems, strict=True):
            options, left_out = read_server_options(file, binary) if file else ((), ())
            if left_out:
                info(f"{name}: not taken from {file}: {', '.join(left_out)}")
            build = ServerBuild(
                name=name,
                path=binary.path,
                flavour=binary.flavour,
                version=binary.version,
                options=(*options, *(server_option(text) for text in self.mysqld_option or ())),
            )
            found.append((stem if stems.count(stem) == 1 else file, build))
        return found


def _cpus(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--cpus: '{text}' is not a number", "2, or 1.5") from None


def _memory(text: str) -> int:
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"--memory: {error.message}", error.hint) from error


def server_option(text: str) -> str:
    """Convert `innodb_io_capacity=200`, with or without leading hyphens, to a server option."""
    name, equals, value = text.strip().removeprefix("--").partition("=")
    if not name or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UsageError(f"--mysqld-option takes NAME=VALUE, not '{text}'", "innodb_io_capacity=200")
    return f"--{name}{equals}{value}"


MAX_DEFAULT_WARMUP_SECONDS = 5.0
"""Maximum of the default warm-up time of an A/B test or a screening."""
SLOTS_PER_WINDOW = 10
"""Number of samples in a window of a screening."""
MEASURED = ("tps", "p95")
"""Figures that an objective of a screening may refer to."""
REPLICA_HINT = "add --replica=HOST:PORT, or --replica=auto"


class SessionOptions(msgspec.Struct, frozen=True):
    """Options of every command with a load that are not part of its plan."""

    yes_this_server: Annotated[
        bool,
        typer.Option(
            "--yes-this-server", help="Allow setting changes although the server looks like production."
        ),
    ] = False
    run_dir: Annotated[
        str, typer.Option(metavar="DIR", help="Folder for records instead of the default.")
    ] = ""

    def keep_records(self) -> None:
        from tuibench.base import paths

        paths.keep_records_in(self.run_dir)


def make_plan(values: PlanValues, profile: str, options: dict[str, OptionValue], **fixed: Any) -> RunPlan:
    """The plan of a run; `fixed` are fields without an option.

    Raises UsageError for options that exclude each other, and for invalid names.
    """
    given = {
        f"--{key.replace('_', '-')}": values[key] for key in ("plan", "ramp", "ramp_rate") if values.get(key)
    }
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)}: one plan at a time", "--plan takes any sequence: 1..64/1m,64:2m"
        )
    schedule = next(iter(given.values()), ())
    fields = values.of_part("") | {"profile": profile, "options": options, "schedule": schedule}
    if planned := first_level(schedule, Quantity.THREADS):
        if "threads" in values.given and values["threads"] != planned:
            text = f"--threads={values['threads']} is not used: the plan begins with {planned:g} threads"
            info(f"tuibench: {text}")
        fields["threads"] = int(planned)
    if schedule and schedule[0].quantity is Quantity.RATE:
        fields["rate"] = first_level(schedule, Quantity.RATE) or 0.0
    if "time" not in values.given and schedule and values["time"]:
        fields["seconds"] = total_seconds(schedule)
    if "time" not in values:
        fields["seconds"] = None
    fields["seed"] = seed_or_random(values.get("rand_seed", 0))
    plan = RunPlan(**fields | fixed, cluster=make_cluster(values))
    if plan.users and (plan.rate or any(stage.quantity is Quantity.RATE for stage in schedule)):
        raise UsageError("--users and a rate exclude each other", "use only one of them")
    check_policy(plan.callers, users=plan.users)
    _check_sources(plan)
    if plan.guard:
        from tuibench.metrics.thresholds import parse_guard

        parse_guard(plan.guard)
        check_lag_objectives(plan, plan.guard)
    if "ab" in values:
        return _with_trial(plan, values)
    if "by" in values:
        return _with_probe(plan, values)
    return _with_tune(plan, values) if "budget" in values else plan


def seed_or_random(given: int) -> int:
    """The seed of a run: `given`, or a random one for 0. `secrets` is not used, as it is slow to import."""
    return given or int.from_bytes(os.urandom(4)) >> 1 or 1


def _check_sources(plan: RunPlan) -> None:
    """Raises UsageError for an invalid source of host metrics or replicas, an option that requires one, and a
    figure that cannot be compared.
    """
    if plan.figure:
        from tuibench.metrics.figures import deciding_figure

        deciding_figure(plan.figure, is_traffic=plan.is_watch, rate=plan.rate)
    if plan.host_metrics:
        from tuibench.observe.remote_host import parse_host_metrics

        parse_host_metrics(plan.host_metrics)
    if plan.max_lag_seconds and not plan.replicas:
        raise UsageError("--max-lag requires --replica", REPLICA_HINT)
    if plan.max_lag_seconds and plan.is_watch:
        raise UsageError("--max-lag pauses a load, but watch has none")


def check_lag_objectives(plan: RunPlan, texts: Sequence[str]) -> None:
    """Raises UsageError for an objective on lag without replicas."""
    if not plan.replicas and any(text.strip().lower().startswith("lag") for text in texts):
        raise UsageError("an objective on lag requires --replica", REPLICA_HINT)


# Several hosts


def make_cluster(values: PlanValues) -> ClusterPlan | None:
    """The plan of the load hosts; None for a load from this host. Raises UsageError for an invalid list."""
    if "cluster" not in values:
        return None
    fields = values.of_part("cluster")
    if not fields["places"]:
        unused = [key for key, (part, _) in values.command.options.items() if part == "cluster"]
        for key in unused:
            if values[key] != values.command.default(key):
                name = values.command.options[key][1].name
                raise UsageError(f"{name} is for a load from several hosts", "add --cluster=ssh:HOST,HOST")
        return None
    plan = ClusterPlan(**fields | {"places": parse_places(fields["places"])})
    for scheduler in (place for place in plan.places if place.startswith(DASK_SCHEMES)):
        from tuibench.model.cluster import check_address

        check_address(scheduler, plan)
    return plan


# A/B tests


def _with_trial(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan with its A/B test, if any. Raises UsageError for values that cannot be tested."""
    from tuibench.tuning.trial_subject import THREADS

    if "ab" not in values.given:
        if "until" in values.given:
            raise UsageError("--until needs --ab", "for example --ab sync_binlog=1,0 --until ±2%")
        return plan
    if plan.schedule:
        raise UsageError(
            "--ab cannot be combined with a plan or a ramp", "its windows must have the same load"
        )
    given_seconds = (values["time"] or 0.0) if "time" in values.given else None
    trial = _trial(plan, values, given_seconds)
    if given_seconds is not None and not trial.is_sequential and given_seconds != trial.seconds:
        raise UsageError(
            f"--time={given_seconds:g} cannot be combined with --ab: {trial.cycles} cycles of 2 windows "
            f"of {trial.window_seconds:g} s are {trial.seconds:g} s",
            "leave --time out, or change --cycles and --window",
        )
    warmup = plan.warmup_seconds
    if "warmup_time" not in values.given and "warmup_time" in values:
        warmup = min(MAX_DEFAULT_WARMUP_SECONDS, trial.window_seconds)
    threads = max(int(trial.a), int(trial.b)) if trial.subject == THREADS else plan.threads
    return replace(plan, trial=trial, seconds=trial.seconds, warmup_seconds=warmup, threads=threads)


def _trial(plan: RunPlan, values: PlanValues, given_seconds: float | None) -> AbTestPlan:
    from tuibench.metrics.figures import deciding_figure
    from tuibench.tuning.trial_subject import resolve_subject

    subject, a, b = values["ab"]
    subject = resolve_subject(subject, a, b)
    is_sequential = "until" in values.given
    usual = effect.until_window_seconds(plan.interval_seconds) if is_sequential else values["window"]
    window = values["window"] if "window" in values.given else usual
    least = effect.MIN_WINDOW_SAMPLES * plan.interval_seconds
    if window < least:
        raise UsageError(
            f"--window={window:g} is too short: a window needs {effect.MIN_WINDOW_SAMPLES} samples, "
            f"one every {plan.interval_seconds:g} s",
            f"take --window={least:g} or more, or a shorter --interval",
        )
    primary = deciding_figure(plan.figure, is_traffic=plan.is_watch, rate=plan.rate).key
    if not is_sequential:
        return effect.AbTestPlan(
            subject=subject,
            a=a,
            b=b,
            cycles=values["cycles"],
            window_seconds=window,
            seed=plan.seed,
            primary=primary,
        )
    if "cycles" in values.given:
        raise UsageError("--cycles cannot be combined with --until", "--max-time limits how long it takes")
    return effect.AbTestPlan.until_decided(
        subject,
        a,
        b,
        tolerance_percent=values["until"],
        max_seconds=given_seconds or effect.DEFAULT_MAX_SECONDS,
        window_seconds=window,
        seed=plan.seed,
        primary=primary,
    )


def ab_test_announcement(plan: RunPlan) -> str:
    """A line about the A/B test of the plan and its duration; empty without one."""
    from tuibench.metrics.thresholds import LEVEL_SAMPLES, parse_guard

    trial = plan.trial
    if trial is None:
        return ""
    warmup = f" after {plan.warmup_seconds:g} s of warm-up" if plan.warmup_seconds else ""
    if any(limit.is_relative for limit in parse_guard(plan.guard, is_traffic=plan.shows_traffic)):
        seconds = LEVEL_SAMPLES * plan.interval_seconds
        warmup += f", and {seconds:g} s until the guard knows the level"
    if trial.is_sequential:
        return (
            f"A/B: {trial.subject} {trial.a} against {trial.b}, windows of {trial.window_seconds:g} s, "
            f"until one is better or they are equal within ±{trial.tolerance_percent:g} %: "
            f"at most {trial.seconds:g} s{warmup}"
        )
    return (
        f"A/B: {trial.subject} {trial.a} against {trial.b}, {trial.cycles} cycles of 2 windows of "
        f"{trial.window_seconds:g} s: {trial.seconds:g} s{warmup}"
    )


# A probe, and a screening of settings


PROBE_INTERVAL_SECONDS = 0.5
"""Default interval of samples in a probe, whose steps end after a number of samples."""


def _with_probe(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan with its probe, if any. Raises UsageError for conflicting limits and invalid objectives."""
    from tuibench.metrics.thresholds import parse_objectives

    by, warmup = values["by"], plan.warmup_seconds
    check_range("--max-time", values["max_time"], MIN_SECONDS + warmup, MAX_SECONDS + warmup)
    least, most = values[f"min_{by}"], values[f"max_{by}"]
    if most and most < least:
        raise UsageError(f"--max-{by} is below --min-{by}")
    parse_objectives(values["slo"])
    order = ProbeOrder(
        **values.of_part("probe")
        | {"least": float(least), "most": float(most), "seconds": values["max_time"] - warmup}
    )
    check_recovery(order, plan.callers)
    return replace(
        plan,
        probe=order,
        interval_seconds=plan.interval_seconds if "interval" in values.given else PROBE_INTERVAL_SECONDS,
        threads=int(least) if by is Quantity.THREADS else plan.threads,
    )


def _with_tune(plan: RunPlan, values: PlanValues) -> RunPlan:
    """The plan with its screening of settings, if any. Raises UsageError for invalid names and objectives."""
    if plan.schedule:
        raise UsageError(
            "tune cannot be combined with a plan or a ramp", "its windows must have the same load"
        )
    order = _tune_order(plan, values.of_part("tune"))
    is_warm = "warmup_time" in values.given
    return replace(
        plan,
        tune=order,
        warmup_seconds=plan.warmup_seconds if is_warm else MAX_DEFAULT_WARMUP_SECONDS,
        interval_seconds=max(0.1, min(plan.interval_seconds, order.window_seconds / SLOTS_PER_WINDOW)),
    )


def _tune_order(plan: RunPlan, fields: dict[str, Any]) -> TunePlan:
    from tuibench.metrics.figures import deciding_figure
    from tuibench.metrics.thresholds import parse_threshold
    from tuibench.model.tune import TunePlan
    from tuibench.tuning.catalogue import wanted_settings

    wanted_settings(fields["only"])
    figure = deciding_figure(plan.figure, is_traffic=False, rate=plan.rate)
    if figure.better is None:
        raise UsageError(f"{figure.name} is neither better nor worse if it rises", "tune needs a direction")
    measured = tuple(dict.fromkeys((*MEASURED, figure.name)))
    for text in fields["objectives"]:
        if parse_threshold(text).figure not in measured:
            raise UsageError(
                f"--slo: windows measure {' and '.join(measured)}, not '{text}'", 'for example "p95<20ms"'
            )
    if fields["resume"]:
        from tuibench.record.store import find_run

        fields["resume"] = str(find_run(fields["resume"]))
    return TunePlan(**fields, primary=figure.key, seed=plan.seed)


MAX_FPS = 60
GC_THRESHOLD = 20_000
"""Garbage collection threshold: Textual creates many long-lived objects, and frequent scans are slow."""
FPS_VARIABLE = "TEXTUAL_FPS"
"""Environment variable with the frame rate, which textual reads on import only."""

THEMES = ("tuibench-dark", "tuibench-light", "ansi-dark", "ansi-light")
"""Themes that completion offers."""

CONFIG_TYPES = {
    "theme": (str, "text"),
    "fps": (int, "a whole number"),
    "mouse": (bool, "true or false"),
    "charts": (str, "text"),
}


class ScreenOptions(msgspec.Struct, frozen=True):
    """Display and input options of the screen."""

    SECTION: ClassVar = "Screen"

    theme: Annotated[
        str,
        typer.Option(
            autocompletion=candidates.words(*THEMES),
            metavar="NAME",
            help="Colours: tuibench-dark, tuibench-light, ansi-dark, ansi-light, … [tuibench-dark].",
            show_default=False,
        ),
    ] = ""
    fps: Annotated[
        int, typer.Option(help="Frames per second at most, for slow connections [60].", show_default=False)
    ] = 0
    no_mouse: Annotated[
        bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal, for selecting and copying.")
    ] = False

    def display_options(self) -> DisplayOptions:
        """The display options; imports textual. Raises UsageError for an invalid theme, frame rate or key."""
        from tuibench.base import config

        wanted = _read_screen_section()
        fps = self.fps or wanted.get("fps", MAX_FPS)
        if not 1 <= fps <= MAX_FPS:
            raise UsageError(f"--fps must be between 1 and {MAX_FPS}, not {fps}")
        os.environ[FPS_VARIABLE] = str(fps)
        gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
        from tuibench.tui import styled_app
        from tuibench.tui.panels.time_chart import parse_slots
        from tuibench.tui.screens import help
        from tuibench.tui.styled_app import DisplayOptions, needs_ascii

        theme = self.theme or wanted.get("theme", "")
        if theme:
            styled_app.check_theme(theme)
        source = config.config_file()
        try:
            charts: tuple[str, ...] = parse_slots(wanted["charts"]) if "charts" in wanted else ()
        except UsageError as error:
            raise UsageError(f"{source}: screen.charts: {error.message}", error.hint) from None
        return DisplayOptions(
            theme=theme,
            ascii_only=needs_ascii(),
            mouse=wanted.get("mouse", True) and not self.no_mouse,
            keymap=help.parse_keymap(config.read_section("keys"), str(source)),
            charts=charts,
            keep_charts=partial(config.keep_option, "screen", "charts"),
        )


def _read_screen_section() -> dict[str, Any]:
    from tuibench.base import config

    found, source = config.read_section("screen"), config.config_file()
    for name, value in found.items():
        if name not in CONFIG_TYPES:
            raise UsageError(f"{source}: screen.{name}: unknown key", did_you_mean(name, CONFIG_TYPES))
        kind, words = CONFIG_TYPES[name]
        if type(value) is not kind:
            raise UsageError(f"{source}: screen.{name}: {words}, not {config.toml_type_name(value)}")
    return found


TextOrJson = Annotated[
    str,
    typer.Option(
        "--format",
        autocompletion=candidates.words("text", "json"),
        metavar="FORMAT",
        help="text, or json for programs.",
    ),
]

RunDir = Annotated[
    str, typer.Option("--run-dir", metavar="DIR", help="The --run-dir that it was recorded in, if any.")
]
"""The folder of records, for commands that read recorded runs."""

MAX_GRACE_SECONDS = 10.0**9


class BackgroundOptions(msgspec.Struct, frozen=True):
    """Options of every command that starts a session."""

    SECTION: ClassVar = "In the background"

    detach: Annotated[
        bool, typer.Option("--detach", help="Start in the background, print the id and return.")
    ] = False
    grace: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help=f"Seconds that it continues without a viewer [{GRACE_SECONDS:g}; with --detach: no limit].",
        ),
    ] = None
    prometheus: Annotated[
        str,
        typer.Option(
            rich_help_panel="Output",
            metavar="[HOST]:PORT",
            help="Serve metrics for Prometheus at this address; without HOST on loopback; port 0: any free "
            "port.",
        ),
    ] = ""

    @property
    def address(self) -> Address | None:
        """Address of the metrics endpoint, if any. Raises UsageError for an invalid one."""
        return parse_address(self.prometheus) if self.prometheus else None

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session spec with the metrics endpoint."""
        return replace(spec, metrics_at=self.address)

    def check_port_free(self) -> None:
        """Raises RunError if the port of the metrics endpoint is in use."""
        from tuibench.session.http import listen_tcp

        if self.address is not None:
            listen_tcp(self.address).close()

    def validate(self) -> None:
        """Raises UsageError for an invalid grace period."""
        if self.grace is not None and not 0 <= self.grace <= MAX_GRACE_SECONDS:
            raise UsageError(f"--grace is a number of seconds, not {self.grace:g}")

    @property
    def grace_seconds(self) -> float | None:
        """The grace period in seconds, None for no limit. Raises UsageError for an invalid duration."""
        self.validate()
        if self.grace is None:
            return None if self.detach else GRACE_SECONDS
        return self.grace


LOOPBACK = "127.0.0.1"
MAX_METRICS_PORT = 65_535


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`, `:PORT` or `PORT`, with an IPv6 address in brackets. Raises UsageError."""
    from tuibench.model.message import Address

    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (":" in bare) != host.startswith("[") or not port.isdecimal() or int(port) > MAX_METRICS_PORT:
        raise UsageError(
            f"--prometheus takes [HOST]:PORT, not '{text}'", "for example :9104, 0.0.0.0:9104 or [::1]:9104"
        )
    return Address(bare or LOOPBACK, int(port))
