"""HdrHistogram interval log, version 1.3, with the latencies of a run: writer and reader.

Lines without a tag are the response times of all transactions, one line for each tick of the measured load;
`Tag=service` are the service times of an open loop, `Tag=transaction:NAME` the response times of one kind of
transaction, if there are several. Values are µs; the maximum in its own column is in ms.

The payloads are encoded and decoded by hdrhistogram (V2, compressed, base64), which is imported with the
first of them. Its array of counts has the same buckets as `metrics.histogram`, so it is filled directly:
recording value by value would block the session's loop. Lines are parsed here: the library's reader decodes
every payload, needed or not, and raises at a line that a crash has truncated.
"""

import binascii
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tuibench.errors import RunError
from tuibench.model.histogram import US_PER_MS, Histogram, bucket_index, bucket_upper_bound
from tuibench.model.results.summary import KindTotals, StatementTotals

HIGHEST_US = 3_600_000_000
"""An hour: longer times are stored as an hour."""
SIGNIFICANT_DIGITS = 3
_LAST_BUCKET = bucket_index(HIGHEST_US)


def encode_histogram(histogram: Histogram) -> str:
    """The compressed V2 encoding of a histogram of microseconds, in base64."""
    encoder = _hdr_histogram()(1, HIGHEST_US, SIGNIFICANT_DIGITS)
    for bucket, times in histogram.counts.items():
        encoder.counts[min(bucket, _LAST_BUCKET)] += times
    if histogram.counts:
        used = min(max(histogram.counts), _LAST_BUCKET)
        first = min(min(histogram.counts), _LAST_BUCKET)
        encoder.set_internal_tacking_values(first, used, sum(histogram.counts.values()))
    return str(encoder.encode().decode("ascii"))


def decode_histogram(
    text: str, *, sum_us: int | None = None, min_us: int | None = None, max_us: int | None = None
) -> Histogram:
    """The histogram of a payload with three significant digits.

    The encoding contains neither the exact sum nor the exact minimum and maximum; unless given, they are
    those of the buckets. Raises RunError for an invalid payload.
    """
    from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException

    codec_errors = (HdrCookieException, HdrHistogramSettingsException, HdrLengthException)
    try:
        decoded = _hdr_histogram().decode(text)
        if decoded.significant_figures != SIGNIFICANT_DIGITS:
            raise ValueError("not of three significant digits")
    except codec_errors as error:
        raise RunError(f"this is not a histogram of tuibench: {error}") from error
    except (ValueError, IndexError, TypeError, zlib.error, binascii.Error) as error:
        raise RunError(f"this is not a histogram of tuibench: {error}") from error
    counts = {bucket: times for bucket, times in enumerate(decoded.counts[:]) if times}
    if not counts:
        return Histogram()
    return Histogram(
        counts,
        sum(counts.values()),
        sum(bucket_upper_bound(bucket) * times for bucket, times in counts.items())
        if sum_us is None
        else sum_us,
        bucket_upper_bound(min(counts)) if min_us is None else min_us,
        bucket_upper_bound(max(counts)) if max_us is None else max_us,
    )


def _hdr_histogram() -> Any:
    """Imported late: the worker and the help need no payloads."""
    from hdrh.histogram import HdrHistogram

    return HdrHistogram


RESPONSE = ""
SERVICE = "service"
TRANSACTION = "transaction:"
_TAG = "Tag="
_SPOILT = str.maketrans(dict.fromkeys(", \r\n", "_"))
"""Characters that are not allowed in a tag."""


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One interval: `start_seconds` into the measured load, `seconds` long. `payload` is encoded."""

    tag: str
    start_seconds: float
    seconds: float
    max_us: int
    payload: str

    @property
    def histogram(self) -> Histogram:
        """The latencies of the interval; the maximum is exact, minimum and sum are those of the buckets."""
        return decode_histogram(self.payload, max_us=self.max_us)


def log_header(base_seconds: float) -> str:
    """The head of a log whose times are relative to `base_seconds` (Unix time)."""
    when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(base_seconds))
    return (
        "#[Latencies in microseconds, written by tuibench]\n"
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {base_seconds:.3f} (seconds since epoch), {when}]\n"
        f"#[BaseTime: {base_seconds:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )


def log_lines(start_seconds: float, seconds: float, histograms: Mapping[str, Histogram]) -> str:
    """One interval, a line for each tag; empty histograms with a tag are omitted."""
    return "".join(
        _line(start_seconds, seconds, tag, histogram)
        for tag, histogram in histograms.items()
        if histogram.count or tag == RESPONSE
    )


def by_tag(
    response: Histogram, service: Histogram, by_transaction: Mapping[str, Histogram]
) -> dict[str, Histogram]:
    """The histograms of an interval under the tags of this log."""
    kinds = {TRANSACTION + name.translate(_SPOILT): each for name, each in by_transaction.items()}
    return {RESPONSE: response, SERVICE: service, **kinds}


def parse_log(text: Iterable[str]) -> Iterator[LogLine]:
    """The intervals of a log, in order; incomplete ones are skipped."""
    for line in text:
        found = _parsed(line)
        if found is not None:
            yield found


def _line(start_seconds: float, seconds: float, tag: str, histogram: Histogram) -> str:
    before = f"{_TAG}{tag}," if tag else ""
    highest_ms = histogram.max_us / US_PER_MS
    return f"{before}{start_seconds:.3f},{seconds:.3f},{highest_ms:.3f},{encode_histogram(histogram)}\n"


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


def statement_totals(histogram: Histogram) -> StatementTotals:
    p50, p95, p99 = _milliseconds(histogram, 50, 95, 99)
    return StatementTotals(count=histogram.count, p50=p50, p95=p95, p99=p99, max=histogram.max_us / US_PER_MS)


def kind_totals(histogram: Histogram, *, retries: int = 0, rolled_back: int = 0) -> KindTotals:
    """One kind of transaction: its latencies and other counts."""
    p50, p90, p95, p99 = _milliseconds(histogram, 50, 90, 95, 99)
    return KindTotals(
        count=histogram.count,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=histogram.max_us / US_PER_MS,
        rolled_back=rolled_back,
        retries=retries,
    )


def _milliseconds(histogram: Histogram, *percentiles: float) -> list[float]:
    return [us / US_PER_MS for us in histogram.percentiles(percentiles)]
