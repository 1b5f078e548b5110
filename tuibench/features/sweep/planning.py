"""The plan of a sweep: cases and variants from the options, the cells, their order and their duration.

A case is a profile with its options, a variant a combination of settings, load and server. A cell is one run
of a case and a variant with a number of threads.

Cells on the same tables run one after the other, because only one size of a table can exist at a time. Within
these groups the plan decides the order. The duration of a sweep is estimated from its plan, then also from
the finished cells.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, product
from random import Random
from statistics import fmean

import msgspec
from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.model.option import parse_words
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.settings import PresetState
from tuibench.model.sweep import Cell, CellOrder, CellResult, Sweep, SweepCase, SweepPlan, SweepVariant
from tuibench.tuning import catalogue
from tuibench.workload import library, script
from tuibench.workload.compiler import known_options
from tuibench.workload.dataset import build_data_set
from tuibench.workload.options import ProfileOption, canonical_name, command_line_name

DURABILITY = tuple(catalogue.BUILTIN_PRESETS[0].values)
SEVERAL = ("integer", "number", "choice")
"""Types of options that take several values, separated by commas."""


def build_cases(
    profiles: Sequence[str], given: Mapping[str, OptionValue], most_threads: int, text: str = ""
) -> tuple[SweepCase, ...]:
    """Each profile with each combination of its options' values, as in `--table-size=1000,9000`.

    Each profile gets those of the options that it has. A `text` is the profile itself; `profiles` then
    contains its name only. Raises UsageError for an option that no profile has.
    """
    known = {
        profile: known_options(
            library.parse_profile(text, profile) if text else library.load_profile(profile)
        )
        for profile in profiles
    }
    options = {canonical_name(name): value for name, value in given.items()}
    for name in options:
        if not any(name in each for each in known.values()):
            library.load_program(profiles[0], {name: options[name]}, text)
    return tuple(
        _with_data(case, most_threads, text)
        for profile in profiles
        for case in _cases(profile, options, known[profile])
    )


def _cases(
    profile: str, options: Mapping[str, OptionValue], known: Mapping[str, ProfileOption]
) -> Iterable[SweepCase]:
    own = {name: _values(name, value, known[name]) for name, value in options.items() if name in known}
    varied = [name for name, values in own.items() if len(values) > 1]
    for combination in product(*own.values()):
        chosen = dict(zip(own, combination, strict=True))
        # A profile may be given by its path.
        plain = profile.rpartition("/")[2].removesuffix(".toml")
        named = ", ".join([plain, *(f"{name}={chosen[name]}" for name in varied)])
        yield SweepCase(name=named, profile=profile, options=chosen)


def _values(name: str, value: OptionValue, option: ProfileOption) -> tuple[OptionValue, ...]:
    if not isinstance(value, str) or option.type not in SEVERAL or "," not in value:
        return (value,)
    parts = parse_words(command_line_name(name), value)
    if any(part.isdigit() and part != str(int(part)) for part in parts):
        raise UsageError(
            f"{command_line_name(name)}={value}: commas separate values here",
            "write thousands without them: 10000",
        )
    return tuple(parts)


def _with_data(case: SweepCase, most_threads: int, text: str) -> SweepCase:
    program = library.load_program(case.profile, {**case.options, "threads": most_threads}, text)
    if program.script is not None:
        if script.PREPARE not in script.declared(program.script).commands:
            return case
        # Any option of a script may change its tables.
        options = [f"{command_line_name(name)}={value}" for name, value in sorted(case.options.items())]
        return replace(
            case, data=shlex.join(["tuibench", "prepare", "PROFILE", *options]), size="those of the script"
        )
    spec = build_data_set(program)
    command = spec.prepare_command("PROFILE")
    return replace(case, data=command, size=spec.describe())


def build_variants(preset_names: str, settings: Sequence[str]) -> tuple[SweepVariant, ...]:
    """Each preset with each combination of settings, such as `durable,unsafe` with `sync_binlog=0,1`.

    Settings are applied after the preset. The name of a variant consists of the values in which the variants
    differ, or of all values if there is only one variant. Raises UsageError for an unknown preset or setting.
    """
    named = (
        [_preset(name) for name in parse_words("--preset", preset_names)]
        if preset_names
        else [SweepVariant(name="")]
    )
    axes = [parse_setting(text) for text in settings]
    varied = {
        name for axis in axes for name, _ in axis if len(axis) > 1 or not (preset_names or varies(axes))
    }
    found = []
    for preset, values in product(named, product(*axes)):
        if _check_once(values):
            words = [f"{name}={value}" for name, value in values if name in varied]
            name = ", ".join([preset.name, *words] if preset.name else words)
            found.append(replace(preset, name=name, settings=dict(values)))
    return tuple(found)


def with_loads(
    variants: Sequence[SweepVariant], loads: Sequence[tuple[str, Mapping[str, OptionValue]]]
) -> tuple[SweepVariant, ...]:
    """Each variant with each load, which is given by its name and the fields of the plan that it sets."""
    return tuple(
        replace(variant, name=", ".join(word for word in (variant.name, name) if word), load=dict(load))
        for variant in variants
        for name, load in loads
    )


def with_servers(variants: Sequence[SweepVariant], servers: Sequence[str]) -> tuple[SweepVariant, ...]:
    """Each variant on each private server; names contain the server, and the variant, if there are
    several.
    """
    has_several = len(variants) > 1 or len(servers) == 1
    return tuple(
        replace(
            variant,
            name=", ".join(filter(None, (server * (len(servers) > 1), variant.name * has_several))) or server,
            server=server,
        )
        for server in servers
        for variant in variants
    )


def varies(axes: Sequence[Sequence[object]]) -> bool:
    """True if any axis has more than one value."""
    return any(len(axis) > 1 for axis in axes)


def _preset(name: str) -> SweepVariant:
    preset = catalogue.find_preset(catalogue.all_presets(), name)
    return SweepVariant(name=_called(preset), preset=preset.name)


def _called(preset: PresetState) -> str:
    """The label of a preset; that of a durability preset contains its two values: durable 1/1."""
    if set(preset.values) != set(DURABILITY):
        return preset.name
    return f"{preset.name} {'/'.join(preset.values[name] for name in DURABILITY)}"


def parse_setting(text: str) -> list[tuple[str, str]]:
    """The name and each value of `sync_binlog=0,1`."""
    name, equals, values = text.partition("=")
    if not equals:
        raise UsageError(f"--setting takes NAME=V1,V2, not '{text}'", "for example --setting sync_binlog=1,0")
    setting = catalogue.find_setting(name)
    return [(setting.name, value) for value in parse_words(f"--setting {setting.name}", values)]


def _check_once(values: Sequence[tuple[str, str]]) -> bool:
    names = [name for name, _ in values]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--setting {name} is given twice", f"write --setting {name}=V1,V2")
    return True


def parse_profiles(text: str) -> tuple[str, ...]:
    """The profiles of `oltp_read_only,oltp_write_only`."""
    return tuple(parse_words("the profiles", text))


def parse_threads(text: str) -> tuple[int, ...]:
    """The numbers of `4,8,16`. Raises UsageError for a word that is not a whole number."""
    try:
        return tuple(int(word) for word in parse_words("--threads", text))
    except ValueError as error:
        raise UsageError(
            f"--threads takes whole numbers separated by commas, not '{text}'", "for example 4,8,16,32"
        ) from error


def all_cells(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells, numbered in the order of the options: case, then variant, then threads, then repeat."""
    repeats = range(1, plan.repeats + 1)
    combined = product(plan.cases, plan.variants, plan.threads, repeats)
    return tuple(
        Cell(number=number, case=case, variant=variant, threads=threads, repeat=repeat)
        for number, (case, variant, threads, repeat) in enumerate(combined, 1)
    )


def cells_in_order(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells in the order in which they run."""
    cells = all_cells(plan)
    tables = dict.fromkeys(case.data for case in plan.cases)
    blocks = ([cell for cell in cells if cell.case.data == data] for data in tables)
    return tuple(cell for block in blocks for cell in _in_order(plan, block))


def _in_order(plan: SweepPlan, cells: Sequence[Cell]) -> Iterable[Cell]:
    if plan.order is CellOrder.GIVEN:
        return cells
    rounds = [[cell for cell in cells if cell.repeat == repeat] for repeat in range(1, plan.repeats + 1)]
    for number, cells_once in enumerate(rounds):
        if plan.order is CellOrder.RANDOM:
            Random(f"{plan.base.seed}/{number}/{cells_once[0].case.data}").shuffle(cells_once)
        else:
            cells_once[:] = _side_by_side(cells_once)[:: -1 if number % 2 else 1]
    return (cell for cells_once in rounds for cell in cells_once)


def _side_by_side(cells: Iterable[Cell]) -> list[Cell]:
    """The cells grouped by case and threads, the variants of every second group in reverse order.

    Cells that are compared with each other thus run at about the same time. The order costs no time: each
    cell applies and restores its settings anyway.
    """
    groups: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.case.name, cell.threads), []).append(cell)
    there_and_back = cycle((1, -1))
    return [cell for group in groups.values() for cell in group[:: next(there_and_back)]]


def build_of(cell: Cell) -> str:
    """The name of the cell's build; in a comparison of versions it is the name of the variant."""
    return cell.variant.server or cell.variant.name


def cells_by_start(plan: SweepPlan) -> tuple[Cell, ...]:
    """All cells, grouped by the start of a private server; every second round has the builds in reverse
    order.

    Within a start, cells on the same tables are adjacent, otherwise in the order of the plan.
    """
    cells = all_cells(plan)
    tables = list(dict.fromkeys(case.data for case in plan.cases))
    builds = list(dict.fromkeys(build_of(cell) for cell in cells))
    starts = (
        (repeat, build)
        for repeat in range(1, plan.repeats + 1)
        for build in builds[:: 1 if repeat % 2 else -1]
    )
    return tuple(
        cell
        for start in starts
        for cell in sorted(
            (cell for cell in cells if (cell.repeat, build_of(cell)) == start),
            key=lambda cell: tables.index(cell.case.data),
        )
    )


def cell_plan(plan: SweepPlan, cell: Cell) -> RunPlan:
    """The plan of a cell's session; each repeat has its own seed."""
    base = plan.base
    if cell.variant.load:
        base = msgspec.convert({**msgspec.to_builtins(base), **cell.variant.load}, RunPlan)
    return replace(
        base,
        profile=cell.case.profile,
        options=cell.case.options,
        threads=cell.threads,
        seed=plan.base.seed + cell.repeat - 1,
    )


def max_threads(plan: SweepPlan) -> int:
    """The highest number of threads of any cell."""
    return max(plan.threads)


OVERHEAD_SECONDS = 2.5

"""The estimated time of a cell without its load, for workers, connections and settings. It is used until a
cell has finished.
"""


def cell_seconds(base: RunPlan, results: Sequence[CellResult]) -> float:
    """The time from the start of a cell to the start of the next one, in seconds."""
    load = base.warmup_seconds + (base.seconds or 0.0)
    overheads = [max(0.0, result.seconds - load) for result in results if result.outcome == "done"]
    return load + (fmean(overheads) if overheads else OVERHEAD_SECONDS)


def starting_seconds(sweep: Sweep, *, is_running: bool = False) -> float:
    """The seconds that the remaining starts of private servers take, with their tables; 0 without any.

    With `is_running`, the server of the last start is running, and has the tables of the last result.
    """
    setup = sweep.record.versions or sweep.record.servers
    if setup is None:
        return 0.0
    done = {result.cell.number for result in (sweep.results if is_running else sweep.done)}
    left = [cell for cell in cells_by_start(sweep.record.plan) if cell.number not in done]
    known = [start.seconds for start in sweep.starts]
    loading = setup.loading_seconds | {one.data: one.seconds for one in sweep.data if one.seconds is not None}
    # `current` is the running server: its build, the number of its start, and its tables.
    seconds, current = 0.0, None
    if is_running and sweep.starts and sweep.results:
        current = sweep.starts[-1].build, sweep.starts[-1].start, sweep.results[-1].cell.case.data
    for cell in left:
        start = (build_of(cell), cell.repeat, cell.case.data)
        if current is None or start[:2] != current[:2]:
            further = sum(setup.loading_seconds.values()) - setup.loading_seconds.get(cell.case.data, 0.0)
            seconds += fmean(known) if known else max(0.0, setup.start_seconds - further)
        elif start[2] != current[2]:
            seconds += loading.get(cell.case.data, 0.0)
        current = start
    return seconds


def remaining_seconds(base: RunPlan, results: Sequence[CellResult], cells_left: int) -> float:
    """The estimated time of the remaining cells in seconds, without the creation of tables."""
    return cells_left * cell_seconds(base, results)
