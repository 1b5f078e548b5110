"""Comparisons in which one observation is a start: A/B tests and screenings, on simulated starts."""

import math
import random
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from tests import sweeps, versions
from tests.unit.tuning.test_catalogue import MARIADB, MYSQL
from tuibench.base.document import Section, Table, write_text
from tuibench.features.sweep.planning import cells_by_start
from tuibench.features.sweep.tables import version_comparisons
from tuibench.features.tune.candidates import start_candidates
from tuibench.features.tune.starts import NOW, result_blocks
from tuibench.model.effect import Verdict
from tuibench.model.sweep import Sweep, SweepVariant
from tuibench.model.tune import TunePlan

NOISE, DRIFT = 0.05, 0.01
"""Starts of one server differ by 5 %, and the host gets 1 % faster from one start to the next."""


def started(rng: random.Random, speeds: Mapping[str, float], starts: int = 5) -> Sweep:
    """A comparison of one test; each build has its speed."""
    builds = tuple(msgspec.structs.replace(versions.OLD, name=name) for name in speeds)
    plan = msgspec.structs.replace(
        versions.PLAN,
        cases=(versions.READS,),
        variants=tuple(SweepVariant(name=name) for name in speeds),
        repeats=starts,
    )
    sweep = versions.record(plan, msgspec.structs.replace(versions.SETUP, builds=builds))
    results = tuple(
        sweeps.result(cell, 800 * speeds[cell.variant.name] * math.exp(rng.gauss(0, NOISE) + DRIFT * place))
        for place, cell in enumerate(cells_by_start(plan))
    )
    return msgspec.structs.replace(sweep, results=results)


@pytest.mark.parametrize(
    ("trials", "most"), [(100, 5), pytest.param(2000, 105, marks=pytest.mark.whole)], ids=["100", "2000"]
)
def test_equal_configurations_have_a_verdict_in_five_percent_of_the_cases_at_most(
    trials: int, most: int
) -> None:
    rng = random.Random(4)
    found = [version_comparisons(started(rng, {"on": 1.0, "off": 1.0}))[-1] for _ in range(trials)]
    assert sum(one.verdict in (Verdict.HIGHER, Verdict.LOWER) for one in found) <= most
    covered = sum(one.low is not None and one.high is not None and one.low < 1 < one.high for one in found)
    assert covered >= trials - most


def test_a_known_effect_is_found() -> None:
    found = version_comparisons(started(random.Random(5), {"8 MiB": 1.0, "512 MiB": 1.4}))[-1]
    assert found.verdict is Verdict.HIGHER
    assert (found.low or 0) < 1.4 < (found.high or 9)


VARIABLES = {
    "log_bin": "ON",
    "innodb_flush_method": "O_DIRECT",
    "innodb_doublewrite": "ON",
    "innodb_log_buffer_size": "16777216",
    "sync_binlog": "1",
    "version": "of no importance",
}


RISKY = TunePlan(allow_risk=True)


def names(found: Sequence[object]) -> set[str]:
    return {str(getattr(one, "setting", "")) for one in found}


def test_what_a_running_server_cannot_change_is_screened_over_starts() -> None:
    plan = TunePlan()
    found, left_out = start_candidates(MARIADB, VARIABLES, plan)
    assert "sync_binlog" not in names(found) | names(left_out)
    assert {"innodb_flush_method", "innodb_log_buffer_size"} <= names(found)
    assert not {one.setting for one in found if one.at_risk}
    assert names(left_out) >= {"innodb_doublewrite"}
    risky, _ = start_candidates(MARIADB, VARIABLES, TunePlan(allow_risk=True))
    assert {"innodb_doublewrite", "log_bin"} <= names(risky)
    mysql, _ = start_candidates(MYSQL, VARIABLES, TunePlan(only=("innodb_doublewrite",), allow_risk=True))
    assert [(one.setting, one.value) for one in mysql] == [("innodb_doublewrite", "OFF")]


def screened(rng: random.Random, plan: TunePlan = RISKY, **speeds: float) -> tuple[dict[str, str], str]:
    """The verdict of each value, and the whole text."""
    candidates, _ = start_candidates(MARIADB, VARIABLES, TunePlan(allow_risk=True, values=4))
    by_name = {f"{one.setting}={one.value}": speeds.get(one.setting, 1.0) for one in candidates[:6]}
    blocks = tuple(result_blocks(started(rng, {NOW: 1.0, **by_name}), candidates, (), plan))
    table = next(block for block in blocks if isinstance(block, Table))
    assert not [block for block in blocks if isinstance(block, Section)]
    return {str(row[0]).partition(" ")[0]: str(row[2]) for row in table.rows}, write_text(blocks)


def test_a_screening_over_starts_names_a_wrong_value_in_ten_percent_of_the_cases_at_most() -> None:
    rng = random.Random(6)
    wrong = [{"better", "worse"} & set(screened(rng)[0].values()) for _ in range(60)]
    assert sum(map(bool, wrong)) <= 6


def test_a_better_value_is_found_and_its_line_is_printed() -> None:
    verdicts, text = screened(random.Random(7), log_bin=2.0, innodb_flush_method=0.5)
    assert (verdicts["log_bin"], verdicts["innodb_flush_method"]) == ("better", "worse")
    assert "To keep these settings, in my.cnf below [mysqld]:\n  skip-log-bin\n" in text
    assert "one observation is a start" in text


def test_a_screening_over_starts_is_about_its_figure_and_its_objectives() -> None:
    changed = {"log_bin": 2.0, "innodb_flush_method": 0.5}
    slow = msgspec.structs.replace(RISKY, primary="p95_ms")
    verdicts, text = screened(random.Random(7), slow, **changed)
    assert "p95 relative" in text or "p95, relative" in text
    assert set(verdicts.values()) <= {"cannot tell yet", "no effect within ±2 %"}
    strict = msgspec.structs.replace(RISKY, objectives=("tps>1000",))
    verdicts, text = screened(random.Random(7), strict, **changed)
    assert verdicts["log_bin"] == "better"
    assert verdicts["innodb_flush_method"] == "worse, misses tps>1000"
    strict = msgspec.structs.replace(RISKY, objectives=("tps>5000",))
    verdicts, text = screened(random.Random(7), strict, **changed)
    assert verdicts["log_bin"] == "better, misses tps>5000"
    assert "skip-log-bin" not in text
