"""What stands below sysbench's summary: the profile's headline, the result of a trial, what a probe found."""

from tuibench.model.summary import Summary
from tuibench.record.effects import trial_text
from tuibench.record.headline import headline_text
from tuibench.record.probe_text import probe_text


def addenda(summary: Summary) -> str:
    """All of it; empty for a run that has none."""
    trial = trial_text(summary.ab) if summary.ab else ""
    return headline_text(summary) + trial + (probe_text(summary.probe) if summary.probe else "")
