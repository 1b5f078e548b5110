"""Line formats of a run directory.

status.jsonl    StatusLine   the status from then on: changes only
reports.jsonl   ReportLine   the full report at each checkpoint, and at the end

The lines of the samples are in `ticks`.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from tuibench.model.experiments.effect import AbTestResult, EffectProgress
from tuibench.model.measurements.headline import Headline
from tuibench.model.message import RunState, Status
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.schedule import PlanProgress
from tuibench.model.server import ServerInfo
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.target import Target
from tuibench.record.sysbench_report import FullReport


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`plan.json`: what was run, and on which server. It never contains a password.

    `options` are the profile's options including defaults, `profile_text` is its file, `profile_digest` the
    SHA-256 of the compiled program: runs with equal digests send the same statements. `data_set` describes
    the tables, `headline` the headline figure of the samples.
    """

    schema: Literal["tuibench.run/1"] = "tuibench.run/1"
    version: str = ""
    session: str
    started_at: float
    plan: RunPlan
    target: Target
    server: ServerInfo
    data_set: str = ""
    options: dict[str, OptionValue] = {}
    profile_text: str = ""
    profile_digest: str = ""
    headline: Headline | None = None


class StatusLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `status.jsonl`: the changes since the line before; the first line is complete.

    Of the settings, only the changed ones are stored. A `plan`, `ab` or `effect` of null means none.
    """

    at: float
    state: RunState | UnsetType = UNSET
    threads: int | UnsetType = UNSET
    rate: float | UnsetType = UNSET
    weights: dict[str, float] | UnsetType = UNSET
    client_delay_ms: float | UnsetType = UNSET
    plan: PlanProgress | UnsetType | None = UNSET
    workers: int | UnsetType = UNSET
    settings: tuple[SettingState, ...] | UnsetType = UNSET
    presets: tuple[PresetState, ...] | UnsetType = UNSET
    production_signs: tuple[str, ...] | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET
    ab: AbTestResult | UnsetType | None = UNSET
    effect: EffectProgress | UnsetType | None = UNSET


class ReportLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `reports.jsonl`: sysbench's full report of the time since the previous one.

    The `last` one is the report at the end of the run; its `latency_histogram` is in HdrHistogram's encoding.
    """

    report: FullReport
    latency_histogram: str = ""
    last: bool = False


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct with their values; inner structs are not converted."""
    return asdict(struct)


def status_changes(before: Status | None, now: Status) -> dict[str, Any]:
    """The fields of a StatusLine that differ in `now`; empty if nothing has changed."""
    changed = {
        name: value
        for name, value in _fields(now).items()
        if before is None or getattr(before, name) != value
    }
    if before is not None and "settings" in changed:
        known = {setting.name: setting for setting in before.settings}
        changed["settings"] = tuple(each for each in now.settings if known.get(each.name) != each)
    return changed


def status_from_line(line: StatusLine, before: Status | None) -> Status | None:
    """The status from this line on; None if an earlier line with the rest is missing."""
    fields = {name: value for name, value in _fields(line).items() if value is not UNSET and name != "at"}
    if before is None:
        return Status(**fields) if _is_complete(fields) else None
    if "settings" in fields:
        known = {setting.name: setting for setting in (*before.settings, *fields["settings"])}
        fields["settings"] = tuple(known.values())
    return msgspec.structs.replace(before, **fields)


def _is_complete(fields: dict[str, Any]) -> bool:
    required = (field.name for field in msgspec.structs.fields(Status) if field.required)
    return "settings" in fields and fields.keys() >= set(required)
