"""Scalability: knee and universal scalability law."""

import math
import random
import sys

import pytest

from tests.unit.features.probe.simulated_probe import Curve
from tuibench.metrics.diagnosis import (
    LOG_GAIN,
    FitRefusedError,
    ThroughputPoint,
    curve_points,
    fit_usl_curve,
    throughput_curve,
    throughput_gain,
)


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
    assert small.value < LOG_GAIN
    unsure = throughput_gain(ThroughputPoint(1, 100, 0.04), ThroughputPoint(2, 96, 0.04))
    assert unsure.value + unsure.margin >= 0
    sure = throughput_gain(ThroughputPoint(1, 100, 0.01), ThroughputPoint(2, 90, 0.01))
    assert sure.value + sure.margin < 0


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
