"""Write the JSON schemas of all that programs may read: `python -m tests.schemas [FOLDER]`.

They are made from the types themselves; a test sees to it that those in docs/schemas are of today.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tuibench.cli import profiles, sessions, settings
from tuibench.model.environment import Environment
from tuibench.model.event import Event
from tuibench.model.finding import Finding
from tuibench.model.summary import Summary
from tuibench.record.lines import PlanRecord, ReportLine, StatusLine
from tuibench.record.shelf import RunLine
from tuibench.record.ticks import SampleLine

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Schema(NamedTuple):
    """What a file or a command holds, and the type of it."""

    title: str
    type: Any


SCHEMAS = {
    "plan": Schema("plan.json of a recorded run", PlanRecord),
    "environment": Schema("environment.json of a recorded run", Environment),
    "sample-line": Schema("a line of samples.jsonl", SampleLine),
    "event-line": Schema("a line of events.jsonl", Event),
    "status-line": Schema("a line of status.jsonl", StatusLine),
    "report-line": Schema("a line of reports.jsonl", ReportLine),
    "summary": Schema("summary.json, run --json, report --json", Summary),
    "runs": Schema("tuibench runs list --format json", list[RunLine]),
    "sessions": Schema("tuibench sessions --format json", list[sessions.Line]),
    "settings": Schema("tuibench settings list --format json", settings.Listing),
    "profiles": Schema("tuibench profiles list --format json", list[profiles.Line]),
    "findings": Schema("tuibench doctor --format json", list[Finding]),
}


def text(name: str) -> bytes:
    """One schema, as its file has it."""
    title, kind = SCHEMAS[name]
    schema = {"$schema": DIALECT, "title": title, **msgspec.json.schema(kind)}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCHEMAS:
        path = folder / f"{name}.json"
        path.write_bytes(text(name))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
