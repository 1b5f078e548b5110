"""The latencies of a run in HdrHistogram's interval log, version 1.3, which its own tools read.

Lines without a tag are the response times of all transactions, one line for each tick of the measured load;
`Tag=service` are the service times of an open loop, `Tag=transaction:NAME` the response times of one kind of
transaction, if there are several. Values are µs, the maximum beside them is in ms.
"""

import time
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.record.hdr import decoded, encoded

RESPONSE = ""
SERVICE = "service"
TRANSACTION = "transaction:"
_TAG = "Tag="
_SPOILT = str.maketrans(dict.fromkeys(", \r\n", "_"))
"""What may not stand in a tag."""


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One interval: `start_seconds` into the measured load, `seconds` long. `payload` is encoded."""

    tag: str
    start_seconds: float
    seconds: float
    max_us: int
    payload: str

    @property
    def histogram(self) -> Histogram:
        """Its latencies; the greatest is exact, the smallest and the sum are those of the buckets."""
        return decoded(self.payload, max_us=self.max_us)


def header(base_seconds: float) -> str:
    """The head of a log whose times are counted from `base_seconds` (Unix time)."""
    when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(base_seconds))
    return (
        "#[Latencies in microseconds, written by tuibench]\n"
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {base_seconds:.3f} (seconds since epoch), {when}]\n"
        f"#[BaseTime: {base_seconds:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )


def lines(start_seconds: float, seconds: float, histograms: Mapping[str, Histogram]) -> str:
    """One interval, a line for each tag; those with a tag are left out where they are empty."""
    told = ((tag, each) for tag, each in histograms.items() if each.count or tag == RESPONSE)
    return "".join(_line(start_seconds, seconds, tag, histogram) for tag, histogram in told)


def by_tag(
    response: Histogram, service: Histogram, by_transaction: Mapping[str, Histogram]
) -> dict[str, Histogram]:
    """The histograms of an interval under the tags of this log."""
    kinds = {TRANSACTION + name.translate(_SPOILT): each for name, each in by_transaction.items()}
    return {RESPONSE: response, SERVICE: service, **kinds}


def parse(text: Iterable[str]) -> Iterator[LogLine]:
    """The intervals of a log, in their order; what is no whole interval is passed over."""
    for line in text:
        found = _parsed(line)
        if found is not None:
            yield found


def _line(start_seconds: float, seconds: float, tag: str, histogram: Histogram) -> str:
    before = f"{_TAG}{tag}," if tag else ""
    highest_ms = histogram.max_us / US_PER_MS
    return f"{before}{start_seconds:.3f},{seconds:.3f},{highest_ms:.3f},{encoded(histogram)}\n"


def _parsed(line: str) -> LogLine | None:
    if line.startswith(("#", '"')) or not line.endswith("\n"):
        return None
    fields = line.rstrip("\n").split(",")
    tag = fields.pop(0).removeprefix(_TAG) if line.startswith(_TAG) else ""
    try:
        start, seconds, highest_ms, payload = fields
        return LogLine(
            tag=tag,
            start_seconds=float(start),
            seconds=float(seconds),
            max_us=round(float(highest_ms) * US_PER_MS),
            payload=payload,
        )
    except ValueError:
        return None
