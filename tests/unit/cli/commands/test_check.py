"""What `tuibench check` prints of its verdicts, and what it refuses before it asks a server."""

import json

import pytest

from tests.unit.cli.program import Program
from tuibench.cli.commands.check import verdicts_text
from tuibench.cli.output.formats import echo_json
from tuibench.errors import ExitCode
from tuibench.load.tables.consistency import ConditionOutcome, ConditionResult

VERDICTS = (
    ConditionResult(condition="1", description="A = B", outcome=ConditionOutcome.HOLDS),
    ConditionResult(
        condition="12",
        description="C = D",
        outcome=ConditionOutcome.BROKEN,
        differing=2,
        example={"id": "3", "c": None},
        message="2 rows: id 3, c null",
    ),
    ConditionResult(
        condition="3",
        description="E = F",
        outcome=ConditionOutcome.SKIPPED,
        message="holds directly after loading only",
    ),
)


def test_a_line_says_what_became_of_each_condition() -> None:
    assert verdicts_text(VERDICTS).splitlines() == [
        " 1  holds    A = B",
        "12  broken   C = D — 2 rows: id 3, c null",
        " 3  skipped  E = F — holds directly after loading only",
        "3 conditions: 1 hold, 1 broken, 1 skipped",
    ]


def test_json_output_has_the_same_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
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
        (["bulk_insert"], "there are no consistency conditions for the tables of bulk"),
    ],
)
def test_what_cannot_be_checked_is_refused(tuibench: Program, arguments: list[str], message: str) -> None:
    code, out, err = tuibench("check", *arguments)
    assert (code, out) == (ExitCode.USAGE_ERROR, "")
    assert message in err
