"""What the reports say about anomalies of isolation, in a load that counts them."""

from collections.abc import Iterator, Mapping

from tuibench.base.document import Section, Table, Text, section
from tuibench.base.units import count, decimal, percent
from tuibench.metrics.figures import ANOMALY_KINDS, CONFLICTS

NOTE = (
    "An anomaly is a result that transactions one after the other could not have had (docs/anomalies.md). "
    "Fewer than a server allows is a matter of chance; more than 0 is certain."
)


def anomalies_sentence(figures: Mapping[str, float]) -> str:
    """The anomalies of a run in one line: `lost updates 41 of 120,310 (0.034 %) · 1020: 230/s`.

    `figures` are those of its summary. Empty for a load that counts none.
    """
    if "anomalies" not in figures:
        return ""
    found = [
        f"{title} {count(number)}{_of_all(name, figures)}"
        for name, (title, *_) in ANOMALY_KINDS.items()
        if (number := figures.get(name)) or name == "lost_updates"
    ]
    return " · ".join((*found, *_conflicts(figures)))


def _of_all(name: str, figures: Mapping[str, float]) -> str:
    if name != "lost_updates" or not figures.get("counted_updates"):
        return ""
    share = figures.get("lost_updates_share", 0.0)
    missing = figures.get("missing_commits")
    told = f", {count(missing)} of them missing in the table" if missing else ""
    digits = 1 if share >= 1 or not share else 3
    return f" of {count(figures['counted_updates'])} ({percent(share, digits)}){told}"


def _conflicts(figures: Mapping[str, float]) -> Iterator[str]:
    for code, (name, _) in CONFLICTS.items():
        if rate := figures.get(name):
            yield f"{code}: {decimal(rate, 1)}/s"


def anomalies_section(figures: Mapping[str, float]) -> Section | None:
    """A row for each kind of anomaly, and for the errors that prevent some; None for a load that counts
    none.
    """
    if "anomalies" not in figures:
        return None
    rows = [
        (title, count(figures.get(name)) + _of_all(name, figures), meaning)
        for name, (title, meaning, _) in ANOMALY_KINDS.items()
    ]
    rows += [
        (title, f"{decimal(rate, 1)}/s", f"error {code}, after which the transaction is tried again")
        for code, (name, title) in CONFLICTS.items()
        if (rate := figures.get(name))
    ]
    table = Table(header=("anomaly", "number", "meaning"), rows=tuple(rows), remarks=1)
    return section("Anomalies", table, Text((NOTE,), role="note"))
