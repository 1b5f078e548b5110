"""What a probe is asked for in words: `rate`, and objectives such as `p95<20ms`."""

import re
from collections.abc import Sequence

from tuibench.errors import UsageError
from tuibench.metrics.threshold import UNITS, Threshold, parse
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity

MEASURED = frozenset({"tps", "qps", "errors", "reconnects"})
"""Of the figures that are no latency, those that a step measures."""

EXAMPLE = '"p95<20ms", "errors<1%"'


def objectives_in(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """The objectives meant. Raises UsageError for what is none, or what a step does not measure."""
    found = tuple(parse(text) for text in texts)
    for each in found:
        if each.figure in UNITS and each.figure not in MEASURED:
            raise UsageError(
                f"'{each.text}': a step is not judged by {each.figure}", f"for example {EXAMPLE}"
            )
    return found


def order_in(words: Sequence[str]) -> ProbeOrder:
    """`threads` or `rate`, if anything, and then objectives. Raises UsageError for anything else."""
    by = Quantity(words[0]) if words and words[0] in tuple(Quantity) else None
    slo = tuple(words[1:] if by else words)
    objectives_in(slo)
    return ProbeOrder(by=by or Quantity.THREADS, slo=slo)


def order_of(text: str) -> ProbeOrder:
    """The same of a line, its parts separated by blanks or commas."""
    return order_in([word for word in re.split(r"[\s,]+", text.strip()) if word])
