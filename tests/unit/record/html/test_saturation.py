"""A probe in the report: its sentences, its steps in order, its charts."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.record.html.test_page import read
from tests.unit.record.steady import steady
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeResult, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.run_report import html_report


def step(level: float, tps: float, purpose: StepPurpose = StepPurpose.UP, **changes: object) -> ProbeStep:
    made = ProbeStep(
        level=level,
        purpose=purpose,
        at_seconds=level,
        seconds=5.0,
        settling_seconds=1.0,
        tps=tps,
        half_width=0.02,
        is_stable=True,
        qps=20 * tps,
        p95_ms=level * 1.5,
    )
    return replace(made, **changes)


STEPS = (
    step(1, 100.0),
    step(2, 190.0),
    step(8, 410.0),
    step(4, 400.0, StepPurpose.REFINE),
    step(2, 150.0, StepPurpose.BACK, is_stable=False),
)
FOUND = ProbeResult(
    order=ProbeOrder(),
    end=ProbeEnd.KNEE,
    reason="",
    seconds=40.0,
    steps=STEPS,
    ceiling=410.0,
    knee=STEPS[3],
    knee_low=3,
    knee_high=6,
    peak=STEPS[2],
    lines=("Saturated at 4 threads.",),
    commands={"tuibench": "tuibench run oltp_read_write --threads=4"},
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = load_run(steady(tmp_path, "a"))
    return replace(made, summary=replace(made.summary, probe=FOUND))


def test_the_section_tells_what_was_found(run: Run) -> None:
    reader = read(html_report(run))
    assert "Saturation" in reader.headings
    assert reader.text.index("Saturated at 4 threads.") < reader.text.index(
        "tuibench run oltp_read_write --threads=4\n"
    )


def saturation(run: Run) -> str:
    """The section of the page."""
    _, _, rest = html_report(run).partition('id="saturation">')
    return rest.partition("</section>")[0]


def test_steps_stand_in_the_order_of_their_levels(run: Run) -> None:
    section = saturation(run)
    places = [section.index(f'<tr><td class="number">{level}</td>') for level in ("1", "2", "4", "8")]
    assert places == sorted(places)
    assert places[2] < section.index("<td>saturated</td>") < places[3]
    assert section.index("on the way back, not stable") > places[3]


def test_charts_show_the_way_up_only(run: Run) -> None:
    section = saturation(run)
    assert section.count("<circle") == 8
    assert "measured, 8 threads: 410 ± 8.2" in section
    assert "150" not in section[: section.index("<table")]


def test_a_probe_of_rates_says_so(run: Run) -> None:
    paced = replace(
        FOUND, order=ProbeOrder(by=Quantity.RATE), steps=(step(0, 500.0, StepPurpose.SCALE), *STEPS[:2])
    )
    section = saturation(replace(run, summary=replace(run.summary, probe=paced)))
    assert "TPS against rate" in section
    assert '<td class="number">no rate</td>' in section


def test_without_a_probe_there_is_no_section(run: Run) -> None:
    for probe in (None, replace(FOUND, steps=())):
        assert saturation(replace(run, summary=replace(run.summary, probe=probe))) == ""
