"""How steady a run was, in words and in rows of tables."""

from tuibench import units
from tuibench.model.steadiness import Steadiness

STALLS_SHOWN = 5


def steadiness_line(found: Steadiness) -> str:
    """One line for a summary."""
    variation = units.DASH if found.variation is None else units.percent(100 * found.variation, 1)
    return (
        f"TPS of single seconds: p1 {found.p1:,.1f}, p50 {found.p50:,.1f}, p99 {found.p99:,.1f}, "
        f"coefficient of variation {variation}, longest stall {found.longest_stall_seconds:.1f} s"
    )


def stalls_line(found: Steadiness) -> str:
    """When nothing much was done; empty without a stall."""
    if not found.stalls:
        return ""
    longest = sorted(found.stalls, key=lambda stall: -stall.seconds)[:STALLS_SHOWN]
    places = ", ".join(
        f"{stall.seconds:.1f} s at {units.hms(stall.start_seconds)}"
        for stall in sorted(longest, key=lambda stall: stall.start_seconds)
    )
    rest = f" (the longest of {len(found.stalls)})" if len(found.stalls) > len(longest) else ""
    return f"stalls below a tenth of the median TPS: {places}{rest}"
