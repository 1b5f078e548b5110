"""Planned load as it is written on a line: `8:30s,16:30s,64:1m`, `1..128/60s`, `rate 200:30s,rate 400:1m`.

    plan   stage, stage, …
    stage  [threads | rate] LEVEL:TIME
           [threads | rate] FIRST..LAST/TIME [doubling]
    TIME   30s, 1m, 1m30s, 500ms, 2h

Threads are meant where nothing is named; once a rate is, every stage must say what it is about.
"""

import re
from collections.abc import Sequence

from tuibench.errors import UsageError
from tuibench.model.duration import duration_text, seconds_in
from tuibench.model.schedule import (
    EXAMPLE,
    Quantity,
    Ramp,
    Schedule,
    Stage,
    Step,
    checked_schedule,
    fault,
)

_NUMBER = r"\d+(?:\.\d+)?"
_STAGE = re.compile(
    rf"(?:(?P<quantity>threads|rate)\s+)?(?:(?P<level>{_NUMBER}):|(?P<first>{_NUMBER})\.\.(?P<last>{_NUMBER})/)"
    r"(?P<time>[^\s]+)(?P<doubling>\s+doubling)?"
)


def schedule_in(text: str, unnamed: Quantity = Quantity.THREADS) -> Schedule:
    """The stages that a text says; those that do not name it are about `unnamed`.

    Raises UsageError with the position of the first that will not do.
    """
    stages, names, position = [], [], 0
    for part in text.split(","):
        start = position + len(part) - len(part.lstrip())
        stage, name = _stage(part.strip(), start + 1, unnamed)
        stages.append(stage)
        names.append(name)
        if Quantity.RATE in names and "" in names:
            raise _misread(part.strip(), start + 1, "once a rate is planned, each stage says threads or rate")
        position += len(part) + 1
    return checked_schedule(stages)


def schedule_text(stages: Sequence[Stage]) -> str:
    """The plan as `schedule_in` reads it."""
    is_named = any(stage.quantity is Quantity.RATE for stage in stages)
    return ",".join(f"{f'{stage.quantity} ' if is_named else ''}{_body(stage)}" for stage in stages)


def _body(stage: Stage) -> str:
    time = duration_text(stage.seconds)
    if isinstance(stage, Step):
        return f"{_level(stage.level)}:{time}"
    doubling = " doubling" if stage.doubling else ""
    return f"{_level(stage.first)}..{_level(stage.last)}/{time}{doubling}"


def _level(level: float) -> str:
    return f"{level:.15g}"


def _stage(text: str, position: int, unnamed: Quantity) -> tuple[Stage, str]:
    """One stage, and what it says it is about."""
    found = _STAGE.fullmatch(text)
    if found is None:
        raise _misread(text, position, "a stage is LEVEL:TIME or FIRST..LAST/TIME")
    try:
        seconds = seconds_in(found["time"])
    except UsageError as error:
        raise _misread(text, position + found.start("time"), error.message) from error
    quantity = Quantity(found["quantity"] or unnamed)
    stage: Stage
    if found["level"]:
        stage = Step(quantity=quantity, level=float(found["level"]), seconds=seconds)
        if found["doubling"]:
            raise _misread(text, position + found.start("doubling") + 1, "only a ramp can be doubling")
    else:
        first, last = float(found["first"]), float(found["last"])
        doubling = bool(found["doubling"])
        stage = Ramp(quantity=quantity, first=first, last=last, seconds=seconds, doubling=doubling)
    if reason := fault(stage):
        raise _misread(text, position, reason)
    return stage, found["quantity"] or ""


def _misread(text: str, position: int, reason: str) -> UsageError:
    return UsageError(f"character {position}, '{text}': {reason}", EXAMPLE)
