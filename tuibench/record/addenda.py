"""What stands below sysbench's summary: the profile's headline, and the result of a trial."""

from tuibench.model.summary import Summary
from tuibench.record.effects import trial_text
from tuibench.record.headline import headline_text


def addenda(summary: Summary) -> str:
    """All of it; empty for a run that has none."""
    return headline_text(summary) + (trial_text(summary.ab) if summary.ab else "")
