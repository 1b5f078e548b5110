"""What `tuibench check` prints of its verdicts, and what it refuses before it asks a server."""

import json

import pytest

from tests.unit.cli.program import Program
from tuibench.cli.check import as_text
from tuibench.cli.formats import echo_json
from tuibench.errors import ExitCode
from tuibench.load.check import Outcome, Verdict

VERDICTS = (
    Verdict(condition="1", says="A = B", outcome=Outcome.HOLDS),
    Verdict(
        condition="12",
        says="C = D",
        outcome=Outcome.BROKEN,
        differing=2,
        example={"id": "3", "c": None},
        words="2 rows: id 3, c null",
    ),
    Verdict(condition="3", says="E = F", outcome=Outcome.SKIPPED, words="holds right after the load only"),
)


def test_a_line_says_what_became_of_each_condition() -> None:
    assert as_text(VERDICTS).splitlines() == [
        " 1  holds    A = B",
        "12  broken   C = D — 2 rows: id 3, c null",
        " 3  skipped  E = F — holds right after the load only",
        "3 conditions: 1 hold, 1 broken, 1 skipped",
    ]


def test_programs_are_told_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json(VERDICTS)
    told = json.loads(capsys.readouterr().out)
    assert [each["outcome"] for each in told] == ["holds", "broken", "skipped"]
    assert told[1]["example"] == {"id": "3", "c": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tpcc", "--format=xml"], "--format: 'xml' is unknown"),
        (["tpcc", "--after-load=maybe"], "--after-load is one of auto, on, off, not 'maybe'"),
        (["tpc"], "there is no profile 'tpc' (did you mean 'tpcc'?)"),
        (["bulk_insert"], "nothing is known that must hold in the tables of bulk"),
    ],
)
def test_what_cannot_be_checked_is_refused(tuibench: Program, arguments: list[str], message: str) -> None:
    code, out, err = tuibench("check", *arguments)
    assert (code, out) == (ExitCode.WRONG_USAGE, "")
    assert message in err
