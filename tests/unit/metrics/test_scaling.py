"""Scalability: knee and universal scalability law."""

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.session.simulated_probe import Curve
from tuibench.metrics.scaling import (
    GAIN,
    FitRefusedError,
    ThroughputPoint,
    curve_points,
    find_knee,
    fit_usl_curve,
    throughput_curve,
    throughput_gain,
)

# Where a curve bends: on curves whose bend is known.


DOUBLED = [2.0**power for power in range(11)]


def plateau(level: float) -> float:
    """In proportion up to 20, then flat."""
    return 100 * min(level, 20.0)


def test_a_hard_limit_bends_where_doubling_gains_a_tenth() -> None:
    levels = [1.0, 2.0, 4.0, 8.0, 16.0, 19.0, 23.0, 32.0, 64.0]
    found = find_knee([ThroughputPoint(level, plateau(level)) for level in levels])
    assert found is not None
    assert found.level == pytest.approx(20 / (1 + GAIN), rel=0.06)


@given(
    st.floats(0.003, 0.2),
    st.floats(1e-5, 3e-3),
    st.floats(10, 1000),
)
def test_a_curve_by_the_law_bends_where_its_formula_says(sigma: float, kappa: float, lam: float) -> None:
    law = Curve(lam, sigma, kappa)
    found = find_knee([ThroughputPoint(level, law.tps(level)) for level in DOUBLED])
    assert found is not None
    assert abs(math.log2(found.level / max(1.0, law.knee))) < 0.3


def test_without_a_bend_there_is_none() -> None:
    assert find_knee([ThroughputPoint(level, 10 * level) for level in DOUBLED]) is None
    assert find_knee([ThroughputPoint(1, 10)]) is None
    assert find_knee([]) is None


def test_a_small_gain_below_a_larger_one_is_no_bend() -> None:
    """Two connections that share a commit gain little, a hundred of them a lot."""
    points = [
        ThroughputPoint(1, 300),
        ThroughputPoint(2, 315),
        ThroughputPoint(4, 600),
        ThroughputPoint(8, 1150),
        ThroughputPoint(16, 1180),
        ThroughputPoint(32, 1170),
    ]
    found = find_knee(points)
    assert found is not None
    assert 6 < found.level < 9


def test_the_noise_widens_the_interval() -> None:
    sharp, blurred = (
        find_knee([ThroughputPoint(level, Curve().tps(level), width) for level in DOUBLED])
        for width in (0.005, 0.05)
    )
    assert sharp is not None
    assert blurred is not None
    assert sharp.level == blurred.level
    assert blurred.low < sharp.low < sharp.level < sharp.high < blurred.high


def test_what_was_measured_twice_is_one_point_weighed_by_its_interval() -> None:
    (point,) = throughput_curve(
        [ThroughputPoint(4, 100, 0.01), ThroughputPoint(4, 110, 0.02), ThroughputPoint(4, 0)]
    )
    assert point.tps == pytest.approx(102)
    assert point.half_width == pytest.approx(0.00894, rel=0.01)
    (point,) = throughput_curve([ThroughputPoint(4, 100, 0.01), ThroughputPoint(4, 200, math.inf)])
    assert point.tps == 100


def test_a_gain_within_the_noise_is_not_sure() -> None:
    small = throughput_gain(ThroughputPoint(1, 100, 0.04), ThroughputPoint(2, 105, 0.04))
    assert small.is_small
    assert not small.is_surely_small
    assert throughput_gain(ThroughputPoint(1, 100, 0.01), ThroughputPoint(2, 105, 0.01)).is_surely_small
    assert throughput_gain(ThroughputPoint(1, 100, 0.01), ThroughputPoint(2, 90, 0.01)).is_surely_loss


# The fit finds the law's parameters in points made by it, and is refused where it would say too much.


LEVELS = (1, 2, 4, 8, 16, 24, 32, 64)


def measured(law: Curve, deviation: float = 0.0, seed: int = 1) -> list[ThroughputPoint]:
    rng = random.Random(seed)
    return [ThroughputPoint(level, law.tps(level) * (1 + rng.gauss(0, deviation))) for level in LEVELS]


def test_it_finds_the_parameters() -> None:
    pytest.importorskip("scipy")
    law = Curve(200, 0.05, 0.0005)
    found = fit_usl_curve(measured(law))
    assert found.lam == pytest.approx(200, rel=1e-3)
    assert found.sigma == pytest.approx(0.05, rel=1e-2)
    assert found.kappa == pytest.approx(0.0005, rel=1e-2)
    assert found.peak_level == pytest.approx(43.6, rel=1e-2)
    assert found.r2 > 0.999


def test_in_noise_the_peak_is_near() -> None:
    pytest.importorskip("scipy")
    law = Curve(200, 0.05, 0.0005)
    peaks = [fit_usl_curve(measured(law, 0.015, seed)).peak_level or 0.0 for seed in range(20)]
    assert all(30 < peak < 65 for peak in peaks)


def test_the_curve_is_drawn_from_one_on() -> None:
    pytest.importorskip("scipy")
    drawn = curve_points(fit_usl_curve(measured(Curve())), 128)
    assert drawn[0][0] == 1
    assert drawn[-1][0] == pytest.approx(128)
    assert drawn[-1][1] == pytest.approx(Curve().tps(128), rel=0.01)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([ThroughputPoint(level, 10 * level) for level in (1, 2, 4, 8)], "needs 5 levels"),
        ([ThroughputPoint(level, 10 * level) for level in LEVELS], "in proportion or faster"),
        ([ThroughputPoint(level, 10 * level**1.3) for level in LEVELS], "of the variance"),
        ([ThroughputPoint(level, 10 * min(level, 8)) for level in LEVELS], "misses the 80/s measured at 8"),
        ([ThroughputPoint(level, 300 if level % 16 else 20) for level in LEVELS], "of the variance"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(points: list[ThroughputPoint], words: str) -> None:
    pytest.importorskip("scipy")
    with pytest.raises(FitRefusedError, match=words):
        fit_usl_curve(points)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(FitRefusedError, match=r"pip install '\.\[analysis\]' in the clone"):
        fit_usl_curve(measured(Curve()))
