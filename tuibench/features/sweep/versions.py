"""Assembly of a comparison of server programs: builds, tests, directory, runner.

A build is a server program with options of its start. Each one is started once before anything is written, to
check that it starts and accepts its settings.
"""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, SystemClock
from tuibench.base.errors import TuibenchError, UsageError
from tuibench.features.sweep.planning import build_cases, cells_by_start, parse_setting
from tuibench.features.sweep.runner import (
    CaseTables,
    OnProgress,
    PrivateServers,
    SweepListener,
    SweepRunner,
    case_program,
    cell_attempts,
    check_variant_possible,
    new_record,
    read_surroundings,
)
from tuibench.model.message import SessionMessage
from tuibench.model.plan import OptionValue
from tuibench.model.server import ServerLimits, Target
from tuibench.model.sweep import ServerBuild, Sweep, SweepCase, SweepEnvironment, SweepPlan, VersionsSetup
from tuibench.record.sweep_folder import SweepFolder
from tuibench.servers.binaries import Binary, inspect_binary
from tuibench.servers.limits import limit_names
from tuibench.servers.server import PrivateServer
from tuibench.tuning import catalogue
from tuibench.workload import library
from tuibench.workload.compiler import known_options
from tuibench.workload.dataset import build_data_set
from tuibench.workload.options import canonical_name

SUITE: tuple[tuple[str, dict[str, OptionValue]], ...] = (
    ("oltp_point_select", {}),
    ("oltp_read_only", {"range_size": 10}),
    ("oltp_read_only", {"range_size": 10_000}),
    ("oltp_read_write", {"range_size": 100}),
    ("oltp_read_write", {"range_size": 10_000}),
    ("oltp_update_index", {}),
    ("oltp_update_non_index", {}),
    ("oltp_write_only", {}),
    ("oltp_insert", {}),
)
"""The tests without --profile: reads before writes, the test that enlarges the tables last."""

SUITE_SIZE: dict[str, OptionValue] = {"tables": 4, "table_size": 100_000}
ROWS_PER_SECOND = 50_000
"""The assumed speed of filling tables, until one was filled."""


def parse_builds(words: Sequence[str]) -> list[tuple[str, Binary]]:
    """Parse `NAME:PATH` or PATH, whose name is flavour and version.

    Raises UsageError for a repeated name, ServerUnavailableError for a file that is not a server program.
    """
    found = [_parse_build(word) for word in words]
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise UsageError(f"two servers are called '{twice}'", "name them: old:/path/mysqld new:/path/mysqld")
    return found


def _parse_build(word: str) -> tuple[str, Binary]:
    name, colon, path = word.partition(":")
    if not colon or "/" in name:
        name, path = "", word
    if not path or (colon and not name and word.startswith(":")):
        raise UsageError(f"'{word}' is not NAME:PATH of a server program", "mariadb:/usr/sbin/mariadbd")
    real = shutil.which(os.path.expanduser(path)) or path
    binary = inspect_binary(os.path.abspath(real) if os.path.exists(real) else real)
    return name or f"{binary.flavour} {binary.version}", binary


BuildAxis = Sequence[tuple[str, Callable[[ServerBuild], ServerBuild]]]
"""An axis of builds: for each value its name, and a function that gives a build this value."""


def crossed(builds: Sequence[ServerBuild], axes: Sequence[BuildAxis]) -> list[ServerBuild]:
    """Each build with each combination of values; a name contains the axes with several values only."""
    found = []
    for build, values in product(builds, product(*axes)):
        words = [word for (word, _), axis in zip(values, axes, strict=True) if len(axis) > 1]
        one = build
        for _, changed in values:
            one = changed(one)
        if words:
            one = replace(one, name=", ".join([*([build.name] * (len(builds) > 1)), *words]))
        found.append(one)
    return found


def limits_axis(limits: Sequence[ServerLimits]) -> BuildAxis:
    """The axis of several limits; a single one applies to the whole setup."""
    if len(limits) < 2:
        return [("", lambda build: build)]
    return [(", ".join(limit_names(one)), partial(replace, limits=one)) for one in limits]


def start_axes(
    settings: Sequence[str], builds: Sequence[ServerBuild], *, every: bool = False
) -> tuple[list[BuildAxis], list[str]]:
    """The axes of settings that become options of the server's start, and the other settings.

    A setting becomes an option of the start if one of the builds cannot change it while it runs; with
    `every`, all settings do. Raises UsageError for a value that one of the builds does not have.
    """
    axes: list[BuildAxis] = []
    live = []
    for text in settings:
        values = parse_setting(text)
        setting = catalogue.find_setting(values[0][0])
        if every or any(catalogue.requires_restart(setting, build) for build in builds):
            axes.append([(f"{name}={value}", partial(_started_with, name, value)) for name, value in values])
        else:
            live.append(text)
    return axes, live


def _started_with(name: str, value: str, build: ServerBuild) -> ServerBuild:
    if name in build.settings:
        raise UsageError(f"--setting {name} is given twice", f"write --setting {name}=V1,V2")
    option, said = catalogue.start_option(catalogue.find_setting(name), build, value)
    return replace(build, options=(*build.options, option), settings={**build.settings, name: said})


def suite_cases(given: Mapping[str, OptionValue], most_threads: int) -> tuple[SweepCase, ...]:
    """The tests of the suite, each with those of the given options that it has.

    Raises UsageError for an option that no test has.
    """
    shared = {**SUITE_SIZE, **{canonical_name(name): value for name, value in given.items()}}
    build_cases(list(dict.fromkeys(profile for profile, _ in SUITE)), shared, most_threads)
    cases: dict[str, SweepCase] = {}
    for profile, options in SUITE:
        known = known_options(library.load_profile(profile))
        own = {name: value for name, value in {**options, **shared}.items() if name in known}
        for case in build_cases([profile], own, most_threads):
            words = (f", {name}={case.options[name]}" for name in options if f" {name}=" not in case.name)
            named = replace(case, name=case.name + "".join(words))
            cases.setdefault(named.name, named)
    return tuple(cases.values())


async def create_versions(
    plan: SweepPlan,
    builds: Sequence[ServerBuild],
    limits: ServerLimits,
    directory: Path,
    *,
    bisect: Literal["", "changed", "bad"] = "",
) -> SweepFolder:
    """Create a comparison of builds. With `bisect`, only the first and the last one are started as a check.

    Raises ServerUnavailableError for a build that does not start.
    """
    tried = (builds[0], builds[-1]) if bisect else builds
    setup, around = await _try_builds(plan, tried, limits)
    if bisect:
        first, last = setup.builds
        setup = replace(setup, builds=(first, *builds[1:-1], last), bisect=bisect)
    record = new_record(plan, directory, Target(), around[0])
    return SweepFolder.create(directory, replace(record, versions=setup))


async def create_server_sweep(
    plan: SweepPlan,
    builds: Sequence[ServerBuild],
    limits: ServerLimits,
    directory: Path,
) -> SweepFolder:
    """Create a sweep on private servers in a new folder; each variant names its build.

    Raises UsageError for a setting that its server does not have.
    """
    setup, around = await _try_builds(plan, builds, limits)
    surroundings = dict(zip((build.name for build in builds), around, strict=True))
    for variant in plan.variants:
        check_variant_possible(variant, surroundings[variant.server])
    record = new_record(plan, directory, Target(), around[0])
    return SweepFolder.create(directory, replace(record, servers=setup))


async def _try_builds(
    plan: SweepPlan, builds: Sequence[ServerBuild], limits: ServerLimits
) -> tuple[VersionsSetup, list[SweepEnvironment]]:
    """Start each server once, to find errors before anything is measured."""
    begun_ns = SystemClock.now_ns()
    tried: dict[tuple[object, ...], tuple[SweepEnvironment, str]] = {}
    for build in builds:
        if _server_of(build, limits) not in tried:
            tried[_server_of(build, limits)] = await _try_server(build, build.limits or limits)
    seconds = (SystemClock.now_ns() - begun_ns) / NS_PER_SECOND / len(tried)
    found = [tried[_server_of(build, limits)] for build in builds]
    for build, (around, _) in zip(builds, found, strict=True):
        _check_settings(build, around.environment.variables)
    loading = {case.data: _rows(plan, case) / ROWS_PER_SECOND for case in plan.cases}
    setup = VersionsSetup(
        builds=tuple(
            replace(build, variables=around.environment.variables, limited=limited if build.limits else "")
            for build, (around, limited) in zip(builds, found, strict=True)
        ),
        limits=limits,
        limited="" if builds[0].limits else found[0][1],
        start_seconds=seconds + sum(loading.values()),
        loading_seconds=loading,
    )
    return setup, [around for around, _ in found]


def _check_settings(build: ServerBuild, variables: Mapping[str, str]) -> None:
    """Raises UsageError for a setting that the server started with another value."""
    for name, wanted in build.settings.items():
        found = variables.get(name, wanted)
        if found.upper() != wanted.upper() and not catalogue.may_become(name, wanted, found):
            raise UsageError(
                f"{build.name}: the server was started with {name}={wanted}, and has {found}",
                "this value is not possible here: leave it out",
            )


def _server_of(build: ServerBuild, limits: ServerLimits) -> tuple[object, ...]:
    """Path, options and limits: two builds that share them are the same server under two names."""
    return build.path, build.options, build.limits or limits


async def _try_server(build: ServerBuild, limits: ServerLimits) -> tuple[SweepEnvironment, str]:
    async with await _start(build, limits) as server:
        return await read_surroundings(server.target), server.limited


async def try_build(build: ServerBuild, limits: ServerLimits) -> tuple[SweepEnvironment | str, float]:
    """Start the server once; returns its environment and the seconds of its start.

    For a server that does not start, or not with its settings, returns the reason and 0.
    """
    begun_ns = SystemClock.now_ns()
    try:
        around, _ = await _try_server(build, limits)
        _check_settings(build, around.environment.variables)
    except TuibenchError as error:
        return error.message.splitlines()[0], 0.0
    return around, (SystemClock.now_ns() - begun_ns) / NS_PER_SECOND


async def _start(build: ServerBuild, limits: ServerLimits) -> PrivateServer:
    binary = Binary(path=build.path, flavour=build.flavour, version=build.version)
    return await PrivateServer.start(binary, options=build.options, limits=limits)


def _rows(plan: SweepPlan, case: SweepCase) -> float:
    data = build_data_set(case_program(plan, case))
    return sum(data.size(name) for name in data.table_names())


def versions_setup(sweep: Sweep) -> VersionsSetup:
    """The setup of a comparison of versions. Raises UsageError for any other sweep."""
    if sweep.record.versions is None:
        raise UsageError(
            f"{sweep.record.name} is not a comparison of versions", "tuibench sweep --show shows it"
        )
    return sweep.record.versions


def private_servers(sweep: Sweep) -> VersionsSetup:
    """The private servers of a sweep or of a comparison of versions. Raises UsageError if it has none."""
    return sweep.record.servers or versions_setup(sweep)


@asynccontextmanager
async def versions_runner(
    folder: SweepFolder,
    listener: SweepListener,
    *,
    on_message: Callable[[SessionMessage], None],
    show: OnProgress | None = None,
) -> AsyncIterator[SweepRunner]:
    """The runner of cells on private servers; the last server is stopped at the end of the context."""
    clock, plan = SystemClock(), folder.sweep.record.plan
    setup = private_servers(folder.sweep)
    servers = PrivateServers(
        setup.builds,
        lambda build: _start(build, build.limits or setup.limits),
        lambda target: CaseTables(target, plan, show, listener.report),
        listener.report,
        clock,
        plan.start,
    )
    attempt = cell_attempts(
        folder,
        lambda: servers.target,
        clock,
        on_message=on_message,
        report=listener.report,
        private_server=lambda: str(servers.directory),
    )
    try:
        yield SweepRunner(folder, servers, attempt, servers.reach, listener, clock, cells_by_start(plan))
    finally:
        await servers.stop()
