"""Steadiness of a run as text and as table rows."""

from tuibench import units
from tuibench.model.measurements.steadiness import Stall, StallConditions, Steadiness

STALLS_SHOWN = 5
NOTABLE_AGE_PERCENT = 50.0
"""Percent of the redo log; a younger checkpoint does not delay anything."""


def steadiness_line(found: Steadiness) -> str:
    """One line for a summary."""
    variation = units.DASH if found.variation is None else units.percent(100 * found.variation, 1)
    return (
        f"TPS of single seconds: p1 {found.p1:,.1f}, p50 {found.p50:,.1f}, p99 {found.p99:,.1f}, "
        f"coefficient of variation {variation}, longest stall {found.longest_stall_seconds:.1f} s"
    )


def stalls_line(found: Steadiness) -> str:
    """The stalls; empty without one."""
    if not found.stalls:
        return ""
    longest = sorted(found.stalls, key=lambda stall: -stall.seconds)[:STALLS_SHOWN]
    places = ", ".join(
        f"{stall.seconds:.1f} s at {units.hms(stall.start_seconds)}{_in_parentheses(stall.conditions)}"
        for stall in sorted(longest, key=lambda stall: stall.start_seconds)
    )
    rest = f" (the longest of {len(found.stalls)})" if len(found.stalls) > len(longest) else ""
    return f"stalls: {places}{rest}"


def conditions_text(found: StallConditions) -> str:
    """The server's activity during a stall; zero and normal values are omitted."""
    if not found.is_answered:
        return "the server did not answer"
    age = found.checkpoint_age_percent
    words = [
        f"checkpoint age {units.percent(age)} of the redo log" if (age or 0) >= NOTABLE_AGE_PERCENT else "",
        f"{units.binary_size(found.dirty_bytes)} dirty" if found.dirty_bytes else "",
        f"disk writes {units.milliseconds(found.disk_write_ms)}" if found.disk_write_ms else "",
        f"{units.small_number(found.log_fsyncs_per_second)} log fsyncs/s"
        if found.log_fsyncs_per_second is not None
        else "",
        f"{found.row_lock_waits:,} waiting for row locks" if found.row_lock_waits else "",
        units.pluralize(found.log_waits, "log wait") if found.log_waits else "",
        units.pluralize(found.free_page_waits, "wait") + " for free pages" if found.free_page_waits else "",
    ]
    return ", ".join(word for word in words if word)


def stall_event_text(stall: Stall) -> str:
    """A completed stall, for the list of events."""
    words = conditions_text(stall.conditions) if stall.conditions is not None else ""
    return f"stall of {stall.seconds:.1f} s at {units.hms(stall.start_seconds)}{': ' * bool(words)}{words}"


def _in_parentheses(found: StallConditions | None) -> str:
    words = conditions_text(found) if found is not None else ""
    return f" ({words})" if words else ""
