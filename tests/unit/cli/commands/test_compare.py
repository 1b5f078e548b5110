"""`tuibench compare` as a script meets it."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.unit.cli.program import Program
from tests.unit.record.steady import steady
from tuibench.model.results.comparison import RunComparison


def test_a_run_that_was_cut_short_is_compared(tuibench: Program, tmp_path: Path) -> None:
    ended = tuibench("compare", str(steady(tmp_path, "a", cut_short=True)), str(steady(tmp_path, "b")))
    assert ended.code == 0
    assert "equal" in ended.out


def test_json_is_for_programs(tuibench: Program, tmp_path: Path) -> None:
    places = [str(steady(tmp_path, "a")), str(steady(tmp_path, "b", each=100))]
    ended = tuibench("compare", *places, "--format=json")
    found = json.loads(ended.out)
    assert found["schema"] == "tuibench.compare/1"
    (tps,) = [row for row in found["rows"] if row["metric"] == "tps"]
    assert tps["others"][0]["verdict"] == "better"
    assert msgspec.json.decode(ended.out, type=RunComparison).runs == ("a", "b")


def test_a_threshold_that_is_crossed_is_an_exit_code(tuibench: Program, tmp_path: Path) -> None:
    places = [str(steady(tmp_path, "a", each=100)), str(steady(tmp_path, "b", each=60))]
    ended = tuibench("compare", *places, "--fail-if", "tps<-5%", "--fail-if=p95>900%")
    assert ended.code == 4
    assert ended.err.startswith("tuibench: tps<-5% crossed by b: -39")
    assert tuibench("compare", *places, "--fail-if", "tps<-50%").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("one",), "compare takes two runs or more"),
        (("no-such-run", "b"), "there is no recorded run in"),
        (("a", "b", "--format=yaml"), "--format: 'yaml' is unknown"),
        (("a", "b", "--fail-if=tps<5"), "is not a threshold of a comparison"),
    ],
)
def test_wrong_usage(tuibench: Program, arguments: tuple[str, ...], words: str) -> None:
    ended = tuibench("compare", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
