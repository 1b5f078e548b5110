"""`tuibench compare` as a script meets it."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import PLAN
from tests.unit.cli.program import Program
from tests.unit.record.steady import steady
from tuibench.model.results.comparison import RunComparison
from tuibench.record.files.recorder import SAMPLES


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


def test_what_differs_within_a_side_is_named(tuibench: Program, tmp_path: Path) -> None:
    plans = {"a": PLAN, "b": replace(PLAN, threads=5, isolation="read-committed"), "c": PLAN}
    places = {name: str(steady(tmp_path, name, plan=plan)) for name, plan in plans.items()}
    ended = tuibench("compare", f"{places['a']},{places['b']}", places["c"])
    (line,) = (line for line in ended.out.splitlines() if "differ not only" in line)
    assert line.startswith(
        "note: the runs of the side that begins with a differ not only in the start of the "
    )
    assert line.endswith(f", but in plan.threads ({PLAN.threads}, 5), plan.isolation (–, read-committed)")
    same = tuibench("compare", f"{places['a']},{places['c']}", places["b"])
    assert "differ not only" not in same.out


def test_a_line_that_is_left_out_is_named(tuibench: Program, tmp_path: Path) -> None:
    place = steady(tmp_path, "a")
    samples = gzip.decompress((place / SAMPLES).read_bytes()).splitlines(keepends=True)
    samples[4] = samples[4].replace(b'"end":', b'"end":1e15,"was":')
    (place / SAMPLES).write_bytes(gzip.compress(b"".join(samples)))
    note = f"1 line of the record is left out: {SAMPLES}, line 5: elapsed_seconds is 1e+15"
    for words in (("report",), ("report", "--csv"), ("runs", "show")):
        ended = tuibench(*words, str(place))
        assert ended.code == 0
        assert ended.err.startswith(f"tuibench: a: {note}\n")
    assert f"note: a: {note}" in tuibench("compare", str(place), str(steady(tmp_path, "b"))).out
