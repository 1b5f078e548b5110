"""sysbench's latency histogram in text: its buckets, its layout."""

import math
from collections.abc import Iterator

from tuibench.metrics.histogram import US_PER_MS, Histogram, highest_in

BUCKETS = 1024
LOWEST_MS, HIGHEST_MS = 0.001, 100_000.0
STARS = 40

_OFFSET = math.log(LOWEST_MS)
_PER_BUCKET = (BUCKETS - 1) / (math.log(HIGHEST_MS) - _OFFSET)

HEAD = """\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
"""


def histogram_text(histogram: Histogram) -> str:
    """sysbench's `--histogram`: logarithmic buckets with stars, empty ones left out; ends in a blank line."""
    counts: dict[int, int] = {}
    for bucket, times in histogram.counts.items():
        place = bucket_of(min(highest_in(bucket), histogram.max_us) / US_PER_MS)
        counts[place] = counts.get(place, 0) + times
    return HEAD + "".join(_rows(counts)) + " \n"


def bucket_of(value_ms: float) -> int:
    """The bucket whose value is nearest on the logarithmic scale."""
    inside = min(max(value_ms, LOWEST_MS), HIGHEST_MS)
    return math.floor((math.log(inside) - _OFFSET) * _PER_BUCKET + 0.5)


def value_of(bucket: int) -> float:
    """The value in milliseconds that stands for a bucket."""
    return math.exp(bucket / _PER_BUCKET + _OFFSET)


def _rows(counts: dict[int, int]) -> Iterator[str]:
    most = max(counts.values(), default=0)
    for bucket, count in sorted(counts.items()):
        stars = "*" * math.floor(count * (STARS / most) + 0.5)
        yield f"{value_of(bucket):12.3f} |{stars:<{STARS}} {count}\n"
