"""Limits of the files of a record, and the HdrHistogram log of a run's latencies.

A record may be damaged or come from somebody else, so its readers accept limited files, lines and numbers
only. Valid records stay below the limits: ten hours at ten samples per second, or a probe with thousands of
events. A line beyond them is left out and reported; a file beyond them is refused.

The log has the HdrHistogram interval format, version 1.3. A line without a tag has the response times of all
transactions in one tick of the measured load. `Tag=service` has the service times of an open loop,
`Tag=transaction:NAME` the response times of one kind of transaction, if there are several. Values are µs; the
column of the maximum is in ms.
"""

import base64
import re
import struct
import time
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from tuibench.base.errors import RunError
from tuibench.model.tick import US_PER_MS, Histogram, bucket_index, bucket_upper_bound

LONGEST_SECONDS = 366 * 86_400.0
# Limits of a record

LATEST_AT = 1e11
"""The latest Unix time that is accepted, in the year 5138."""
SHORTEST_SECONDS = 1e-3
DOCUMENT_BYTES = 16 << 20
HISTOGRAM_BYTES = 1 << 19
"""Maximum size of a decompressed histogram: each of its 23,000 buckets takes at most nine bytes."""
INFLATED_BYTES = 4 << 30
"""Maximum size of decompressed samples: ten hours of 12 KiB at ten samples per second."""
LARGEST_INTEGER, LARGEST_FRACTION = 1 << 64, 1e18
MOST_FIGURES = 10_000_000
"""Maximum number of sums and levels in all samples of a run: 140 in each sample of 20 hours."""
MIB = 1 << 20


class FileLimits(NamedTuple):
    """Maximum number of lines in a file, bytes of a line, and bytes of the file."""

    lines: int
    line_bytes: int = MIB
    file_bytes: int = 1 << 30


SAMPLES = FileLimits(lines=400_000)
EVENTS = FileLimits(lines=50_000, line_bytes=1 << 18, file_bytes=64 * MIB)
STATUS = FileLimits(lines=400_000, file_bytes=128 * MIB)
REPORTS = FileLimits(lines=10_000, file_bytes=256 * MIB)
HISTOGRAMS = FileLimits(lines=2_000_000)
RESULTS = FileLimits(lines=10_000, file_bytes=64 * MIB)
"""Limits of `results.jsonl`: cells of a sweep, blocks of a screening."""

_MAYBE_HUGE = re.compile(rb"[\[:,]\s*-?(?:[0-9.]+[eE]\+?[0-9]{2}|[0-9]{19})")


def number_refusal(document: bytes) -> str:
    """The reason why a JSON document is refused: a number that is too large; empty if it is accepted."""
    return _huge(msgspec.json.decode(document)) if _MAYBE_HUGE.search(document) else ""


def _huge(value: Any, name: str = "a value") -> str:
    """The reason for the first number that is too large, with its name; empty if there is none."""
    match value:
        case int() if abs(value) > LARGEST_INTEGER:
            return f"{name} is a number of {len(str(abs(value)))} digits"
        case float() if abs(value) > LARGEST_FRACTION:
            return f"{name} is {value:g}"
        case dict():
            return next(filter(None, (_huge(inner, key) for key, inner in value.items())), "")
        case list():
            return next(filter(None, (_huge(inner, name) for inner in value)), "")
    return ""


def time_refusal(elapsed_seconds: float, at: float = 0.0) -> str:
    """The reason why a time (seconds into the run, Unix time) is refused; empty if it is accepted."""
    if not abs(elapsed_seconds) <= LONGEST_SECONDS:
        return f"elapsed_seconds is {elapsed_seconds:g}"
    return "" if 0 <= at <= LATEST_AT else f"at is {at:g}"


def length_refusal(seconds: float) -> str:
    """The reason why the length of an interval is refused; empty if it is accepted."""
    return "" if seconds == 0 or SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS else f"seconds is {seconds:g}"


class SampleTimes:
    """Checks the times of a run's samples: within the limits, and never decreasing after the warm-up."""

    def __init__(self) -> None:
        self._last_seconds = 0.0

    def refusal(self, elapsed_seconds: float, at: float) -> str:
        """The reason why the next sample is refused; empty if it is accepted."""
        if found := time_refusal(elapsed_seconds, at):
            return found
        if 0 < elapsed_seconds < self._last_seconds:
            return f"elapsed_seconds goes back from {self._last_seconds:g} to {elapsed_seconds:g}"
        self._last_seconds = max(self._last_seconds, elapsed_seconds)
        return ""


# Encoding of a histogram: V2, compressed, base64.
#
# hdrhistogram encodes; it is imported with the first histogram. Its array of counts has the same buckets as
# `Histogram` and is filled directly, because recording value by value would block the session's event loop.
# Decoding is done here: the library trusts what it reads.

HIGHEST_US = 3_600_000_000
"""An hour: longer times are stored as an hour."""
SIGNIFICANT_DIGITS = 3
_LAST_BUCKET = bucket_index(HIGHEST_US)
MS_PER_SECOND = 1e3

_OUTER = struct.Struct(">II")
"""Cookie, length of the compressed rest."""
_INNER = struct.Struct(">IIIIQQd")
"""Cookie, length of the counts, offset, digits, lowest and highest value, conversion ratio."""
_COOKIES = 0x1C849314, 0x1C849313
_LAST_SHIFT = 56
"""The shift of a number's ninth byte, which has eight bits instead of seven."""


def encode_histogram(histogram: Histogram) -> str:
    """The compressed V2 encoding of a histogram of microseconds, in base64."""
    from hdrh.histogram import HdrHistogram

    encoder = HdrHistogram(1, HIGHEST_US, SIGNIFICANT_DIGITS)
    for bucket, times in histogram.counts.items():
        encoder.counts[min(bucket, _LAST_BUCKET)] += times
    if histogram.counts:
        used = min(max(histogram.counts), _LAST_BUCKET)
        first = min(min(histogram.counts), _LAST_BUCKET)
        encoder.set_internal_tacking_values(first, used, sum(histogram.counts.values()))
    return str(encoder.encode().decode("ascii"))


def decode_histogram(
    text: str,
    *,
    sum_us: int | None = None,
    min_us: int | None = None,
    max_us: int | None = None,
    where: str = "",
) -> Histogram:
    """Decode a payload of microseconds with three significant digits.

    The encoding contains neither the exact sum nor the exact minimum and maximum; unless given, they are
    those of the buckets. Raises RunError for an invalid payload; `where` names its place in the message.
    """
    try:
        counts = _decode_counts(text)
    except (ValueError, IndexError, zlib.error, struct.error) as error:
        place = f"{where}: " if where else ""
        raise RunError(f"{place}this is not a histogram of tuibench: {error}") from error
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


def _decode_counts(text: str) -> dict[int, int]:
    """The counts by bucket.

    The payload is a sequence of ZigZag LEB128 numbers: the count of a bucket, or a negative number of empty
    buckets. The library allocates the size that a payload claims; here it is limited to that of a histogram.
    Raises ValueError, IndexError, struct.error or zlib.error for an invalid payload.
    """
    packed = base64.b64decode(text, validate=True)
    cookie, _ = _OUTER.unpack_from(packed)
    inflate = zlib.decompressobj()
    data = inflate.decompress(packed[_OUTER.size :], HISTOGRAM_BYTES)
    if not inflate.eof:
        raise ValueError("truncated, or too large")
    inner, length, offset, digits, lowest, _, _ = _INNER.unpack_from(data)
    if (cookie, inner) != _COOKIES or length != len(data) - _INNER.size:
        raise ValueError("not in V2 encoding")
    if (offset, digits, lowest) != (0, SIGNIFICANT_DIGITS, 1):
        raise ValueError("not of microseconds with three significant digits")
    counts: dict[int, int] = {}
    bucket, place = 0, _INNER.size
    while place < len(data):
        value, shift = 0, 0
        while (byte := data[place]) >= 0x80 and shift < _LAST_SHIFT:
            value |= (byte & 0x7F) << shift
            shift, place = shift + 7, place + 1
        value |= byte << shift
        place += 1
        times = (value >> 1) ^ -(value & 1)
        if times > 0:
            counts[bucket] = times
        bucket += max(1, -times)
    if counts and max(counts) > _LAST_BUCKET:
        raise ValueError("longer times than an hour")
    return counts


RESPONSE = ""
SERVICE = "service"
TRANSACTION = "transaction:"
_TAG = "Tag="
_SPOILT = str.maketrans(dict.fromkeys(", \r\n", "_"))
"""Characters that are not allowed in a tag."""


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the log: the latencies of one interval under one tag."""

    tag: str
    start_seconds: float
    """Seconds into the measured load."""
    seconds: float
    """The length of the interval."""
    max_us: int
    payload: str
    """The encoded histogram."""
    where: str = ""
    """File and number of the line, for messages."""

    @property
    def end_seconds(self) -> float:
        return self.start_seconds + self.seconds

    def histogram(self, *, sum_us: int | None = None, min_us: int | None = None) -> Histogram:
        """The latencies of the interval, with the exact maximum. Raises RunError for a damaged payload.

        Unless given, minimum and sum are those of the buckets.
        """
        return decode_histogram(
            self.payload, sum_us=sum_us, min_us=min_us, max_us=self.max_us, where=self.where
        )


def log_header(base_seconds: float) -> str:
    """The header of a log whose times are relative to `base_seconds` (Unix time)."""
    when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(base_seconds))
    return (
        "#[Latencies in microseconds, written by tuibench]\n"
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {base_seconds:.3f} (seconds since epoch), {when}]\n"
        f"#[BaseTime: {base_seconds:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )


def log_lines(start_seconds: float, seconds: float, histograms: Mapping[str, Histogram]) -> str:
    """The lines of one interval, one for each tag; an empty histogram with a tag has no line."""
    lines = []
    for tag, histogram in histograms.items():
        if histogram.count or tag == RESPONSE:
            before = f"{_TAG}{tag}," if tag else ""
            times = f"{start_seconds:.3f},{seconds:.3f},{histogram.max_us / US_PER_MS:.3f}"
            lines.append(f"{before}{times},{encode_histogram(histogram)}\n")
    return "".join(lines)


def by_tag(
    response: Histogram, service: Histogram, by_transaction: Mapping[str, Histogram]
) -> dict[str, Histogram]:
    """The histograms of an interval by their tags in the log."""
    kinds = {TRANSACTION + name.translate(_SPOILT): each for name, each in by_transaction.items()}
    return {RESPONSE: response, SERVICE: service, **kinds}


def parse_line(line: str, where: str = "") -> LogLine | None:
    """Parse a complete line; None for a comment or the header. Raises RunError for an invalid line."""
    if line.startswith(("#", '"')) or not line.strip():
        return None
    fields = line.rstrip("\n").split(",")
    tag = fields.pop(0).removeprefix(_TAG) if line.startswith(_TAG) else ""
    try:
        start, seconds, highest_ms = map(float, fields[:-1])
    except ValueError:
        raise RunError(f"{where}: this is not an interval of latencies") from None
    refusal = time_refusal(start) or time_refusal(seconds)
    if refusal or not 0 <= highest_ms / MS_PER_SECOND <= LONGEST_SECONDS:
        reason = refusal or f"a latency of {highest_ms:g} ms"
        raise RunError(f"{where}: this is not an interval of latencies: {reason}")
    return LogLine(
        tag=tag,
        start_seconds=start,
        seconds=seconds,
        max_us=round(highest_ms * US_PER_MS),
        payload=fields[-1],
        where=where,
    )
