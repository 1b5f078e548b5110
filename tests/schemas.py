"""Write the JSON schemas of all that programs may read: `python -m tests.schemas [FOLDER]`.

They are generated from the types; a test checks that docs/schemas is up to date. A type's docstring is the
description of its schema, and the text below a field that of the property.
"""

import ast
import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.paths import DOCS
from tuibench.cli import profiles, server, sessions
from tuibench.features.blackbox.command import BlackBoxReport
from tuibench.features.failover.result import FailoverReport
from tuibench.features.sweep.formats import SweepExport
from tuibench.load.conditions import ConditionResult
from tuibench.model.cluster import HostCheck
from tuibench.model.event import Event
from tuibench.model.findings import CrashReport, Finding
from tuibench.model.prices import PriceList
from tuibench.model.probe import ProbeResult
from tuibench.model.server import Environment, StatementReport
from tuibench.model.summary import History, RunComparison, SlapBenchmark, Summary
from tuibench.model.sweep import SweepLine, SweepRecord
from tuibench.model.tune import TuneResult
from tuibench.record.recorder import PlanRecord, ReportLine, SampleLine, StatusLine
from tuibench.record.store import RecordedEntry, RecordedRun

FOLDER = DOCS / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Schema(NamedTuple):
    """Content of a file or of a command's output, and its type."""

    title: str
    type: Any


SCHEMAS = {
    "plan": Schema("plan.json of a recorded run", PlanRecord),
    "environment": Schema("environment.json of a recorded run", Environment),
    "sample-line": Schema("a line of samples.jsonl.gz", SampleLine),
    "event-line": Schema("a line of events.jsonl", Event),
    "status-line": Schema("a line of status.jsonl", StatusLine),
    "report-line": Schema("a line of reports.jsonl", ReportLine),
    "summary": Schema(
        "summary.json, run --json, watch --format json, report --json, ctl stop --wait --format json", Summary
    ),
    "sweep-record": Schema("sweep.json of a recorded sweep", SweepRecord),
    "sweep-line": Schema("a line of results.jsonl of a recorded sweep", SweepLine),
    "sweep": Schema(
        "tuibench sweep --format json, versions --format json, runs show SWEEP --format json", SweepExport
    ),
    "sweeps": Schema("tuibench sweep --compare --format json", list[SweepExport]),
    "runs": Schema("tuibench runs list --format json", list[RecordedEntry]),
    "run": Schema("tuibench runs show RUN --format json", RecordedRun),
    "compare": Schema("tuibench compare --format json", RunComparison),
    "history": Schema("tuibench history --format json", History),
    "prices": Schema("tuibench prices --format json", PriceList),
    "probe": Schema("tuibench probe --format json", ProbeResult),
    "tune": Schema("tuibench tune --format json", TuneResult),
    "crash": Schema("tuibench crash --format json", CrashReport),
    "failover": Schema("tuibench failover --format json", FailoverReport),
    "blackbox": Schema("tuibench blackbox --format json", BlackBoxReport),
    "slap": Schema("tuibench slap --format json", list[SlapBenchmark]),
    "check": Schema("tuibench check --format json", list[ConditionResult]),
    "sessions": Schema("tuibench sessions --format json", list[sessions.SessionLine]),
    "settings": Schema("tuibench settings list --format json", server.SettingsListing),
    "statements": Schema("tuibench ctl statements --format json", StatementReport),
    "status": Schema("tuibench ctl status --format json", sessions.SessionStatus),
    "answer": Schema("tuibench ctl COMMAND --format json", sessions.CommandAnswer),
    "profiles": Schema("tuibench profiles list --format json", list[profiles.ProfileLine]),
    "profile": Schema("tuibench profiles show --format json", profiles.ProfileDetails),
    "profile-check": Schema("tuibench profiles check --format json", profiles.ProfileCheck),
    "hosts": Schema("tuibench cluster check --format json", list[HostCheck]),
    "findings": Schema("tuibench doctor --format json", list[Finding]),
}


def text(name: str) -> bytes:
    """One schema, as in its file."""
    title, kind = SCHEMAS[name]
    schema = {"$schema": DIALECT, "title": title, **_cleaned(_with_fields(msgspec.json.schema(kind)))}
    return _OPERANDS.sub(b"", msgspec.json.format(msgspec.json.encode(schema), indent=2)) + b"\n"


_OPERANDS = re.compile(rb"_int___str_|\[int \| str\]")
"""The type of the operands in the name of a profile's generator: it is a profile's everywhere."""


def _with_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, each property of a struct with the text below its field as its description, and each
    enumeration with the texts below its members in its description.
    """
    for kind in _structs(msgspec.Struct):
        properties = schema.get("$defs", {}).get(kind.__name__, {}).get("properties", {})
        if properties.keys() == {each.encode_name for each in msgspec.structs.fields(kind)}:
            for base in reversed(kind.__mro__):
                for (name, field), words in field_texts(base.__module__).items():
                    if name == base.__name__ and field in properties:
                        properties[field]["description"] = words
    for words_of in StrEnum.__subclasses__():
        definition = schema.get("$defs", {}).get(words_of.__name__, {})
        texts = field_texts(words_of.__module__)
        found = {str(each): texts.get((words_of.__name__, each.name), "") for each in words_of}
        lines = [f"{value}: {words}" for value, words in found.items() if words]
        if lines and definition.get("enum") == sorted(found):
            definition["description"] = "\n".join((cleandoc(words_of.__doc__ or ""), "", *lines))
    return schema


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _structs(each)


@cache
def field_texts(module: str) -> dict[tuple[str, str], str]:
    """The texts below the fields of a module's classes, by class and field."""
    if not module.startswith("tuibench."):
        return {}
    found = {}
    for kind in ast.parse(getsource(sys.modules[module])).body:
        for pair in pairwise(kind.body if isinstance(kind, ast.ClassDef) else ()):
            match kind, pair:
                case (
                    ast.ClassDef(name=name),
                    (
                        ast.AnnAssign(target=ast.Name(id=field)) | ast.Assign(targets=[ast.Name(id=field)]),
                        ast.Expr(value=ast.Constant(value=str(words))),
                    ),
                ):
                    found[name, field] = words
    return found


def _cleaned(schema: Any) -> Any:
    """The schema with its descriptions, which are docstrings, as text about JSON."""
    match schema:
        case dict():
            return {
                name: _description(part) if (name, type(part)) == ("description", str) else _cleaned(part)
                for name, part in schema.items()
            }
        case list():
            return [_cleaned(part) for part in schema]
        case _:
            return schema


def _description(docstring: str) -> str:
    """A docstring with JSON's constants. Python up to 3.12 keeps the indentation, 3.13 does not."""
    text = cleandoc(docstring)
    for python, json in (("None", "null"), ("True", "true"), ("False", "false")):
        text = re.sub(rf"\b{python}\b", json, text)
    return text


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCHEMAS:
        path = folder / f"{name}.json"
        path.write_bytes(text(name))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
