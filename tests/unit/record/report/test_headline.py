"""The headline and the kinds of transactions as they stand below sysbench's summary."""

from pathlib import Path

from msgspec.structs import replace

from tests.examples import summary
from tests.unit.record.written import ENVIRONMENT, load, plan_record, tick
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.headline import Headline, HeadlineTotals
from tuibench.model.results.summary import KindTotals
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import RunRecorder
from tuibench.record.report.addenda import addenda

TPMC = Headline(
    title="tpmC", note="not audited", transaction="new_order", ideal=12.86, doubt="with waits only"
)
KINDS = {
    "new_order": KindTotals(
        count=450, p50=4.0, p90=8.0, p95=9.5, p99=20.25, max=31.0, rolled_back=5, retries=12
    ),
    "stock_level": KindTotals(count=40, p50=14.0, p90=18.0, p95=19.5, p99=120.25, max=131.0),
}
TEXT = """\
tpmC (not audited):                      675.00
    efficiency:                          5248.83 % of 12.86 (with waits only)

Transactions (ms): completed rollbacks   retries       p50       p90       p95       p99       max
    new_order            450         5        12      4.00      8.00      9.50     20.25     31.00
    stock_level           40         0         0     14.00     18.00     19.50    120.25    131.00

"""


def test_the_headline_is_above_its_transactions() -> None:
    assert addenda(summary(headline=HeadlineTotals.of(TPMC, 450, 40.0), by_transaction=KINDS)) == TEXT


def test_without_an_ideal_there_is_no_efficiency() -> None:
    bare = Headline(title="orders", transaction="new_order")
    text = addenda(summary(headline=HeadlineTotals.of(bare, 450, 0.0)))
    assert text == "orders:                                  0.00\n\n\n"


def test_other_profiles_have_none() -> None:
    assert addenda(summary(by_transaction=KINDS)) == ""


def test_a_run_that_was_cut_short_has_its_headline(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    recorder.open(replace(plan_record(), headline=TPMC), ENVIRONMENT)
    for number in (1, 2):
        kinds = {"new_order": Histogram.of([1_000] * 20), "payment": Histogram.of([500] * 30)}
        seen = load(number)
        seen.hists.update({f"trx.{name}": each for name, each in kinds.items()})
        recorder.sample(tick(number, seen))
    recorder.close()
    run = load_run(tmp_path / "r1")
    assert run.summary.headline is not None
    assert run.summary.headline.value == 1200.0
    assert run.plan.headline == TPMC
