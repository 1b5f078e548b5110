"""Texts of the slowest transactions: time, duration, and the statements that took the most of it."""

from collections.abc import Iterator, Sequence

from tuibench.model.measurements.sample import SlowTransaction, TimedStatement
from tuibench.units import hms, milliseconds, pluralize

SHOWN = 3
"""Statements listed in a line; the others are added up."""


def slow_text(slow: SlowTransaction, shown: int = SHOWN) -> str:
    """`84 ms at 01:12, oltp_write_only: index_update 71 ms, commit 9.8 ms, 8 others 2.1 ms`."""
    when = f" at {hms(slow.at_seconds)}" if slow.at_seconds > 0 else ""
    return f"{milliseconds(slow.response_ms)}{when}, {slow.transaction}: {', '.join(slow_parts(slow, shown))}"


def slow_parts(slow: SlowTransaction, shown: int = SHOWN) -> list[str]:
    """The parts of the time, largest first: wait for a connection, statements, and the remainder."""
    ordered = sorted(slow.statements, key=lambda each: -each.ms)
    waited = slow.response_ms - slow.service_ms
    parts = [f"{milliseconds(waited)} waiting for a connection"] if waited > 0.01 * slow.response_ms else []
    parts += [statement_text(each) for each in ordered[:shown]]
    rest = ordered[shown:]
    if rest:
        count = pluralize(sum(each.count for each in rest), "other")
        parts.append(f"{count} {milliseconds(sum(each.ms for each in rest))}")
    between = slow.service_ms - sum(each.ms for each in slow.statements)
    if between > 0.1 * slow.response_ms:
        parts.append(f"{milliseconds(between)} between statements")
    return parts


def statement_text(each: TimedStatement) -> str:
    """`commit 9.8 ms`, `10 point_select 12 ms (longest 9 ms)`, `update 50 s (error 1205)`."""
    name = f"{each.count} {each.name}" if each.count > 1 else each.name
    longest = f" (longest {milliseconds(each.max_ms)})" if each.count > 1 else ""
    error = f" (error {each.error})" if each.error else ""
    return f"{name} {milliseconds(each.ms)}{longest}{error}"


def slow_lines(slowest: Sequence[SlowTransaction], shown: int = SHOWN) -> Iterator[str]:
    """The lines of a summary."""
    if slowest:
        yield "slowest transactions:"
        yield from (f"    {slow_text(each)}" for each in slowest[:shown])
