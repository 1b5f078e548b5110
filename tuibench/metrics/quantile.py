"""A window's value at a rank, and the values that windows redrawn from it would have.

A redrawn window's is read off the same merged histogram, at the rank that the redrawn share of latencies
below it points to (Woodruff, "Confidence intervals for medians and other position measures", JASA 47, 1952):
nothing has to be merged for each of many hundred drawings.
"""

import math
from collections.abc import Sequence

from tuibench.metrics.bootstrap import Parts
from tuibench.metrics.histogram import Histogram
from tuibench.metrics.slots import Ranks, not_above


class Quantile:
    """The value below which a share (0 to 1) of a window's latencies lies; there must be some.

    `parts` are the latencies below it and all of them, slot by slot.
    """

    def __init__(self, histograms: Sequence[Histogram], share: float) -> None:
        self._ranks = Ranks(histograms)
        self._share = share
        self.value_ms = self._ranks.at_ms(share)
        bucket = self._ranks.bucket_at(share)
        self.parts = Parts(
            [float(not_above(one, bucket)) for one in histograms], [float(one.count) for one in histograms]
        )

    def read(self, redrawn: Sequence[float]) -> list[float]:
        """A share below it that is smaller by so much means a value at a rank higher by so much."""
        found = self.parts.ratio
        return [
            math.nan if math.isnan(one) else self._ranks.at_ms(self._share + found - one) for one in redrawn
        ]
