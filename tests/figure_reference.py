"""Write the reference of the figures: `python -m tests.figure_reference`.

It is generated from the table of figures; a test checks that tuibench/metrics/README.md is up to date.
"""

from tests.paths import ROOT
from tuibench.metrics.figures import MAIN_FIGURES, OTHER_FIGURES, Figure

PAGE = ROOT / "tuibench" / "metrics" / "README.md"

HEAD = """\
# Look up a figure

What `--fail-if`, `--slo`, `--figure` and `--guard` accept, generated from the table of figures;
[running.md](../../docs/running.md#figures) says where. [time.md](../../docs/time.md#classes) explains
the classes of waits (`time_…`), [anomalies.md](../../docs/anomalies.md) the anomalies.

| figure, unit | meaning |
|---|---|
"""

FOOT = """\
| `p50` … `p99.99` ms | any percentile of the response times |
| `innodb_rows_read`, … /s, B/s | a counter of `SHOW GLOBAL STATUS`: growth per second, or a gauge |
"""


def reference() -> str:
    """The page."""
    return HEAD + "".join(map(_row, (*MAIN_FIGURES, *OTHER_FIGURES))) + FOOT


def _row(figure: Figure) -> str:
    return f"| {' '.join(filter(None, (f'`{figure.name}`', figure.unit)))} | {figure.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
