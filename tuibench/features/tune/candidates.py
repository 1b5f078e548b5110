"""Candidates of a screening: values of settings that are safe on a server and may have an effect; and its
log.

A value is left out, with the reason, if it could lose data or change results (unless `--allow-risk` is
given), if memory or disk is too small for it, if another setting prevents any effect, or if the budget is too
short.

The log of a screening is `tune.jsonl` in the folder of its run: a head, then a line for each block. It is
written during the screening, so that `--resume` continues one that was interrupted, even by kill -9.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from tuibench.base import files, numerals
from tuibench.base.errors import UsageError
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.units import pluralize
from tuibench.features.tune.evaluation import FIRST_PAIRS
from tuibench.model.server import ServerInfo
from tuibench.model.settings import SettingState
from tuibench.model.tune import Candidate, LeftOut, TuneBlock, TuneLogHead, TunePlan
from tuibench.observe.host_facts import free_memory_bytes
from tuibench.record import hdr_log
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import wanted_settings
from tuibench.tuning.setting import ABOVE_ZERO, MemoryUse, Setting, TrialRule, ValueKind

NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.PERCENT, ValueKind.SIZE)
MEMORY_SHARE, CONNECTIONS_SHARE, DISK_SHARE = 0.5, 0.25, 0.25
"""Shares of what is free: for one large allocation, for the buffers of all connections, for the redo log."""

SCREENING_SHARE = 0.8
"""The share of the budget for single candidates; the rest is for the test of the best together."""

USUAL_PAIRS = FIRST_PAIRS + 2
"""Pairs that a candidate usually needs."""
NO_OTHER_VALUE = "there is no other value to test"
SMALLER = "less than it has now"


class Room(NamedTuple):
    """The space for candidates on the server's host; None if the host is another one."""

    memory_bytes: int | None
    disk_bytes: int | None
    connections: int
    """The number of the load's connections."""


def find_candidates(
    states: Iterable[SettingState],
    server: ServerInfo,
    variables: Mapping[str, str],
    room: Room,
    plan: TunePlan,
) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """The candidates in the catalogue's order, numbered from 1, and what is left out.

    `variables` are the server's variables on which settings depend.
    """
    by_name = {state.name: state for state in states}
    values = {state.name: state.value for state in by_name.values()} | dict(variables)
    found: list[tuple[SettingState, str]] = []
    left_out: list[LeftOut] = []
    for setting in wanted_settings(plan.only):
        state = by_name[setting.name]
        why = _obstacle(setting, state, values, plan)
        # A setting that this server lacks or cannot change, or that does not affect speed, is not listed.
        is_obvious = bool(state.unavailable) or setting.trial is TrialRule.NEVER
        if why and is_obvious and setting.name not in plan.only:
            continue
        chosen, reasons = ((), (why,)) if why else _values(setting, state, server, values, room, plan)
        found += [(state, value) for value in chosen]
        left_out += [LeftOut(setting=setting.name, why=reason) for reason in reasons]
    kept, cut = _within_budget(found, plan)
    return _numbered(kept, _sharing(kept, room)), (*left_out, *cut)


def start_candidates(
    server: ServerInfo, variables: Mapping[str, str], plan: TunePlan
) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """The values that a server can have only from its start, and what is left out."""
    found: list[tuple[SettingState, str]] = []
    left_out: list[LeftOut] = []
    for setting in wanted_settings(plan.only):
        if not catalogue.requires_restart(setting, server) or setting.name not in variables:
            continue
        now = variables[setting.name]
        state = catalogue.setting_state(setting, server, now, now)
        if setting.trial is TrialRule.NEVER:
            continue
        why = _obstacle(setting, state, variables, plan)
        room = Room(free_memory_bytes(), None, 1)
        chosen, reasons = (
            ((), (why,)) if why else _values(setting, state, server, variables, room, plan, at_start=True)
        )
        found += [(state, value) for value in chosen]
        left_out += [
            LeftOut(setting=setting.name, why=reason) for reason in reasons if reason != NO_OTHER_VALUE
        ]
    return _numbered(found, set()), tuple(left_out)


def check_recorded(
    recorded: Sequence[Candidate],
    states: Iterable[SettingState],
    server: ServerInfo,
    variables: Mapping[str, str],
    room: Room,
    plan: TunePlan,
) -> None:
    """Raises UsageError for a recorded candidate that a screening on this server would not try: whoever made
    the record may have written anything into it.
    """
    by_name = {state.name: state for state in states}
    values = {state.name: state.value for state in by_name.values()} | dict(variables)
    for one in recorded:
        setting = catalogue.find_setting(one.setting)
        state, support = by_name.get(setting.name), setting.support(server)
        if state is None or support is None:
            raise UsageError(f"this server has no {setting.name}", "start again without --resume")
        why = _obstacle(setting, state, values, plan)
        if not why and setting.canonical(support, one.value) != one.value:
            why = "it is not written as this server writes it"
        if why := why or _unsafe(setting, one.value, state, values, room, plan):
            raise UsageError(
                f"the record of the screening has {one.setting}={one.value}, which is not tried here: {why}",
                "start again without --resume",
            )
    sharing = {one.setting for one in recorded if one.can_share}
    if tuple(recorded) != _numbered([(by_name[one.setting], one.value) for one in recorded], sharing):
        raise UsageError("the record of the screening is damaged", "start again without --resume")


def _obstacle(setting: Setting, state: SettingState, values: Mapping[str, str], plan: TunePlan) -> str:
    """Why no value of a setting is tried; empty if some may be."""
    if state.unavailable:
        return state.unavailable
    if setting.trial is TrialRule.NEVER:
        return "a limit or a log: it does not affect speed, or is too dangerous to test"
    if setting.trial is TrialRule.RISKY and not plan.allow_risk:
        return f"only with --allow-risk: {setting.risk}"
    for name, needed in setting.acts_with.items():
        if not _acts(values.get(name, ""), needed):
            return f"it has an effect only with {name}={'|'.join(needed)}, which is {values.get(name, '–')}"
    return ""


def _acts(value: str, needed: Sequence[str]) -> bool:
    if ABOVE_ZERO in needed:
        return bool(numerals.count(value))
    return value.upper() in {each.upper() for each in needed}


def _values(
    setting: Setting,
    state: SettingState,
    server: ServerInfo,
    values: Mapping[str, str],
    room: Room,
    plan: TunePlan,
    *,
    at_start: bool = False,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The values to try, and why others are left out. `at_start` includes values that a running server
    refuses.
    """
    support = setting.support(server)
    if support is None:
        return (), (NO_OTHER_VALUE,)
    is_dynamic = server.version_tuple >= support.dynamic_since
    support = support.at_start if at_start else support
    named = setting.choices(support) if setting.tried is None else setting.tried
    if at_start and is_dynamic:
        named = support.stuck
    offered = [setting.canonical(support, value) for value in named]
    others = [value for value in offered if not _same(setting, value, state.value)]
    is_number = setting.kind in NUMBERS
    if is_number and numerals.number(state.value) is None:
        return (), (f"its value is {numerals.unreadable(state.value)}",)
    reasons: dict[str, None] = {}
    usable = []
    for value in others:
        why = _unsafe(setting, value, state, values, room, plan)
        if not why:
            usable.append(value)
        elif why != SMALLER:
            reasons[f"{value}: {why}"] = None
    if not usable:
        return (), tuple(reasons) or (NO_OTHER_VALUE,)
    chosen = spread(usable, state.value, plan.values) if is_number else usable[: plan.values]
    return tuple(chosen), tuple(reasons)


def _same(setting: Setting, one: str, other: str) -> bool:
    if setting.kind in NUMBERS:
        try:
            return Decimal(one) == Decimal(other)
        except ArithmeticError:
            return False
    return one.upper() == other.upper()


def _unsafe(
    setting: Setting,
    value: str,
    state: SettingState,
    values: Mapping[str, str],
    room: Room,
    plan: TunePlan,
) -> str:
    """Why this value is not tried; empty if it is safe."""
    if setting.at_risk(value) and not plan.allow_risk:
        return "only with --allow-risk: committed data can be lost"
    try:
        catalogue.check_pair_limit(
            setting.name, value, values.get(catalogue.paired_setting(setting.name) or "")
        )
    except UsageError as error:
        return error.message
    if setting.memory is MemoryUse.NONE:
        return ""
    growth = int(Decimal(value)) - int(Decimal(state.value))
    if growth < 0:
        return "" if setting.memory is MemoryUse.PER_CONNECTION else SMALLER
    return _too_large(setting.memory, growth, room)


def _too_large(memory: MemoryUse, growth: int, room: Room) -> str:
    free = room.disk_bytes if memory is MemoryUse.DISK else room.memory_bytes
    what = "disk space" if memory is MemoryUse.DISK else "memory"
    if free is None:
        return f"the {what} of the server's host is not known here"
    if memory is MemoryUse.PER_CONNECTION:
        fits = growth * room.connections <= CONNECTIONS_SHARE * free
    else:
        fits = growth <= (DISK_SHARE if memory is MemoryUse.DISK else MEMORY_SHARE) * free
    return "" if fits else f"not enough {what} is free"


def spread(values: Sequence[str], present: str, count: int) -> list[str]:
    """A selection of the numbers above and below the present one, spread evenly over each side."""
    now = Decimal(present)
    ordered = sorted(values, key=Decimal)
    above = [value for value in ordered if Decimal(value) > now]
    below = [value for value in ordered if Decimal(value) < now]
    upper = min(len(above), max(count - len(below), (count + 1) // 2))
    lower = min(len(below), count - upper)
    return [*_evenly(above, upper), *_evenly(below, lower)]


def _evenly(values: Sequence[str], count: int) -> list[str]:
    size = len(values)
    return [values[(2 * place + 1) * size // (2 * count)] for place in range(count)] if count else []


def most_candidates(plan: TunePlan) -> int:
    """The number of candidates that the budget allows."""
    share = plan.candidates_per_block
    pair_seconds = plan.window_seconds * (share + 1) / share
    return max(1, int(SCREENING_SHARE * plan.budget_seconds / (USUAL_PAIRS * pair_seconds)))


def _within_budget(
    found: Sequence[tuple[SettingState, str]], plan: TunePlan
) -> tuple[list[tuple[SettingState, str]], list[LeftOut]]:
    """All candidates if there is time for them; otherwise one value of each setting, then further ones."""
    most = most_candidates(plan)
    if len(found) <= most:
        return list(found), []
    first: dict[str, tuple[SettingState, str]] = {}
    for state, value in found:
        first.setdefault(state.name, (state, value))
    kept = list(first.values())[:most]
    for state, value in found:
        if len(kept) < most and (state, value) not in kept:
            kept.append((state, value))
    why = f"the budget of {plan.budget_seconds:g} s is enough for {pluralize(most, 'value')}"
    places = {(state.name, value) for state, value in kept}
    cut = [
        LeftOut(setting=state.name, why=f"{value}: {why}")
        for state, value in found
        if (state.name, value) not in places
    ]
    return kept, cut


def _sharing(found: Sequence[tuple[SettingState, str]], room: Room) -> set[str]:
    """The settings whose candidates may share windows.

    A change that takes long or allocates much would disturb what is measured beside it, so such settings
    share none. The buffers of all connections must fit together.
    """
    sharing: set[str] = set()
    taken = 0
    for state, value in found:
        setting = catalogue.find_setting(state.name)
        if setting.slow or setting.memory in (MemoryUse.ONCE, MemoryUse.DISK):
            continue
        if setting.memory is MemoryUse.PER_CONNECTION:
            growth = max(0, int(Decimal(value)) - int(Decimal(state.value)))
            if growth and _too_large(setting.memory, taken + growth, room):
                sharing.discard(setting.name)
                continue
            taken += growth
        sharing.add(setting.name)
    return sharing


def _numbered(found: Sequence[tuple[SettingState, str]], sharing: set[str]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            number=number,
            setting=state.name,
            topic=state.topic,
            value=value,
            original=state.value,
            change=_change(state, value),
            meaning=catalogue.find_setting(state.name).meaning(value),
            risk=state.risk,
            at_risk=catalogue.find_setting(state.name).at_risk(value),
            scope=state.scope,
            can_share=state.name in sharing,
        )
        for number, (state, value) in enumerate(found, 1)
    )


def _change(state: SettingState, value: str) -> str:
    spoken = catalogue.find_setting(state.name).spoken
    return f"{spoken(state.value)} → {spoken(value)}"


T = TypeVar("T")
TUNE_LOG = "tune.jsonl"


class TuneLog:
    """Writes the log of a run's latest screening."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / TUNE_LOG
        self._head: TuneLogHead | None = None
        self._written = 0

    def write(self, head: TuneLogHead, blocks: Sequence[TuneBlock]) -> None:
        """Append the blocks that are new; another screening replaces the log."""
        lines = [msgspec.json.encode(block) + b"\n" for block in blocks[self._written :]]
        if head is not self._head:
            lines = [msgspec.json.encode(each) + b"\n" for each in (head, *blocks)]
            files.private(self._path, "wb").close()
        if lines:
            with self._path.open("ab") as stream:
                stream.write(b"".join(lines))
        self._head, self._written = head, len(blocks)


def read_tune_log(directory: Path) -> tuple[TuneLogHead, tuple[TuneBlock, ...]]:
    """Read head and blocks; a truncated last line is skipped.

    Raises UsageError if there is no log, or if a line cannot be read.
    """
    path = directory / TUNE_LOG
    try:
        first, *lines, _ = files.read_bytes(path, limit=hdr_log.RESULTS.file_bytes).split(b"\n")
    except (OSError, ValueError) as error:
        reason = f": {error.strerror}" if isinstance(error, OSError) else ""
        raise UsageError(
            f"{directory} has no {TUNE_LOG}{reason}", "it is not a run of tuibench tune"
        ) from None
    head = _decoded(first, TuneLogHead, path, 1)
    return head, tuple(_decoded(line, TuneBlock, path, number) for number, line in enumerate(lines, 2))


def _decoded(line: bytes, kind: type[T], path: Path, number: int) -> T:
    try:
        found, refusal = msgspec.json.decode(line, type=kind), hdr_log.number_refusal(line)
    except DECODE_ERRORS as error:
        raise UsageError(f"{path}, line {number} cannot be read: {error}") from None
    if refusal:
        raise UsageError(f"{path}, line {number} cannot be read: {refusal}")
    return found
