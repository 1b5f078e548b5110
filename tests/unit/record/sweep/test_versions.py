"""What is told of server programs against each other."""

import json
from statistics import geometric_mean

import msgspec
import pytest

from tests import versions
from tuibench.model.experiments.effect import Verdict
from tuibench.model.results.sweep import SweepVariant
from tuibench.record.sweep.formats import sweep_json, versions_text
from tuibench.record.sweep.versions import differing_variables, version_comparisons
from tuibench.record.sweep.versions_page import versions_html

TEXT = """\
relative to old (1, with its figure); 95 % intervals over 3 starts
test            threads            old                new
oltp_read_only        4  1 (1,000 TPS)  0.50 (0.48..0.52)
oltp_insert           4    1 (100 TPS)  1.01 (0.74..1.37) ~
geometric mean                       1  0.71 (0.60..0.84)
~ cannot tell: the interval includes 1, and more than ±5 %
"""


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_one_table_relative_to_the_first() -> None:
    assert lines(versions_text(versions.comparison())) == lines(TEXT)


def test_each_test_has_its_interval_and_verdict() -> None:
    by_key = {(one.case, one.build): one for one in version_comparisons(versions.comparison())}
    reads, inserts = by_key["oltp_read_only", "new"], by_key["oltp_insert", "new"]
    assert (reads.verdict, inserts.verdict) == (Verdict.LOWER, Verdict.CANNOT_TELL)
    assert reads.levels == (500.0, 510.0, 490.0)
    assert by_key["oltp_insert", "old"].relative == 1.0
    ratios = [one.relative for one in (reads, inserts) if one.relative is not None]
    assert by_key["", "new"].relative == pytest.approx(geometric_mean(ratios))


def test_a_mean_over_all_tests_takes_the_starts_that_have_all() -> None:
    whole = versions.comparison()
    part = msgspec.structs.replace(whole, results=whole.results[:-1])
    means = [one for one in version_comparisons(part) if not one.case]
    assert sorted(len(one.levels) for one in means) == [2, 3]


def test_a_single_start_has_ratios_and_no_verdicts() -> None:
    plan = msgspec.structs.replace(versions.PLAN, repeats=1)
    text = versions_text(versions.comparison(plan))
    assert "one start: no intervals" in text
    assert lines(text)[2] == ["oltp_read_only", "4", "1", "(1,000", "TPS)", "0.50"]
    assert "--starts=5" in text
    assert all(one.low is None for one in version_comparisons(versions.comparison(plan)))


def test_a_build_that_was_not_measured_yet_has_a_dash() -> None:
    whole = versions.comparison()
    early = msgspec.structs.replace(whole, results=whole.results[:2])
    assert lines(versions_text(early))[2] == ["oltp_read_only", "4", "1", "(1,000", "TPS)", "–"]


def test_csv_and_json_have_the_same() -> None:
    sweep = versions.comparison()
    header, *rows = versions_text(sweep, "csv").splitlines()
    assert header == "test,threads,build,headline_name,starts,mean,relative,low,high,verdict"
    assert rows[1].startswith("oltp_read_only,4,new,TPS,3,500.0,0.4999")
    assert rows[-1].startswith(",,new,,3,")
    told = json.loads(sweep_json(sweep))
    assert [one["build"] for one in told["starts"]] == ["old", "new", "new", "old", "old", "new"]
    assert told["comparisons"][1]["relative"] == pytest.approx(0.5, rel=0.01)


def test_many_tests_say_how_many_are_off_by_chance() -> None:
    names = [f"new{number}" for number in range(10)]
    builds = (versions.OLD, *(msgspec.structs.replace(versions.NEW, name=name) for name in names))
    whole = versions.comparison()
    new = [one for one in whole.results if one.cell.variant.name == "new"]
    copies = [
        msgspec.structs.replace(one, cell=msgspec.structs.replace(one.cell, variant=SweepVariant(name=name)))
        for name in names
        for one in new
    ]
    old = [one for one in whole.results if one.cell.variant.name == "old"]
    plan = msgspec.structs.replace(
        versions.PLAN, variants=tuple(SweepVariant(name=build.name) for build in builds)
    )
    setup = msgspec.structs.replace(versions.SETUP, builds=builds)
    sweep = msgspec.structs.replace(versions.record(plan, setup), results=(*old, *copies))
    assert "of 30 intervals about 2 exclude the true ratio by chance" in versions_text(sweep)


def test_settings_that_differ() -> None:
    assert differing_variables([versions.OLD, versions.NEW]) == [("innodb_io_capacity", "200", "10000")]


def test_the_page_has_the_table_its_picture_and_every_test() -> None:
    page = versions_html(versions.comparison())
    for words in (
        "old against new",
        "0.50 (0.48..0.52)",
        "new: 0.50 (0.48..0.52)",
        "<h2>oltp_insert</h2>",
        "Settings that differ",
        "3 of each, in alternating order",
    ):
        assert words in page
    assert "http" not in page.split("</style>")[1]


def test_an_early_page_has_no_picture() -> None:
    assert "each test relative to" not in versions_html(versions.record())
