"""Histograms in HdrHistogram's own encoding (V2, compressed, base64), for other tools to read and merge.

A payload is the counts of all buckets up to the last used one, as zigzag LEB128 numbers; a negative one
stands for so many empty buckets. Our buckets are HdrHistogram's, so nothing is lost on the way, and the
numbers are written straight from the sparse counts.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache

from tuibench.errors import RunError
from tuibench.metrics.histogram import Histogram, bucket_of, highest_in

HIGHEST_US = 3_600_000_000
"""An hour; what took longer is kept as an hour."""
SIGNIFICANT_DIGITS = 3

_LAST_BUCKET = bucket_of(HIGHEST_US)
_COMPRESSED, _PLAIN = 0x1C849314, 0x1C849313
_ENVELOPE = struct.Struct(">ii")
_HEAD = struct.Struct(">iiiiqqd")
"""Cookie, payload length, index offset, digits, lowest, highest, ratio of integer to double values."""
_LOWEST_US, _RATIO = 1, 1.0
_SEVEN_BITS, _MORE = 0x7F, 0x80
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_RLE)
"""Few counts, and very many, repeat themselves; those in between deflate better without a search for that."""


def encoded(histogram: Histogram) -> str:
    """The compressed V2 encoding of a histogram of microseconds, in base64."""
    payload = b"".join(map(_leb128, _words(histogram)))
    head = _HEAD.pack(_PLAIN, len(payload), 0, SIGNIFICANT_DIGITS, _LOWEST_US, HIGHEST_US, _RATIO)
    body = min((_deflated(head + payload, strategy) for strategy in _STRATEGIES), key=len)
    return base64.b64encode(_ENVELOPE.pack(_COMPRESSED, len(body)) + body).decode("ascii")


def decoded(
    text: str, *, sum_us: int | None = None, min_us: int | None = None, max_us: int | None = None
) -> Histogram:
    """The histogram of an encoding that this module made.

    The encoding holds neither sum nor ends exactly; without them they are those of the buckets.
    Raises RunError for what is none.
    """
    try:
        counts = _counted(_payload(base64.b64decode(text, validate=True)))
    except (ValueError, struct.error, zlib.error, IndexError, binascii.Error) as error:
        raise RunError(f"this is no histogram of tuibench: {error}") from error
    if not counts:
        return Histogram()
    return Histogram(
        counts,
        sum(counts.values()),
        sum(highest_in(bucket) * times for bucket, times in counts.items()) if sum_us is None else sum_us,
        highest_in(min(counts)) if min_us is None else min_us,
        highest_in(max(counts)) if max_us is None else max_us,
    )


def _deflated(plain: bytes, strategy: int) -> bytes:
    deflater = zlib.compressobj(strategy=strategy)
    return deflater.compress(plain) + deflater.flush()


def _words(histogram: Histogram) -> Iterator[int]:
    """The counts in order; a run of empty buckets is its length, negated."""
    counts: dict[int, int] = {}
    for bucket, times in histogram.counts.items():
        inside = min(bucket, _LAST_BUCKET)
        counts[inside] = counts.get(inside, 0) + times
    following = 0
    for bucket in sorted(counts):
        if bucket > following:
            yield following - bucket
        yield counts[bucket]
        following = bucket + 1


@lru_cache(maxsize=4096)
def _leb128(word: int) -> bytes:
    """Zigzag, then seven bits a byte, the lowest first."""
    rest = word << 1 if word >= 0 else ((-word) << 1) - 1
    found = bytearray()
    while rest > _SEVEN_BITS:
        found.append(rest & _SEVEN_BITS | _MORE)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _payload(data: bytes) -> bytes:
    cookie, length = _ENVELOPE.unpack_from(data)
    if cookie != _COMPRESSED:
        raise ValueError("not a compressed V2 histogram")
    plain = zlib.decompress(data[_ENVELOPE.size : _ENVELOPE.size + length])
    cookie, length, offset, digits, *_ = _HEAD.unpack_from(plain)
    if (cookie, offset, digits) != (_PLAIN, 0, SIGNIFICANT_DIGITS):
        raise ValueError("not of three significant digits")
    return plain[_HEAD.size : _HEAD.size + length]


def _counted(payload: bytes) -> dict[int, int]:
    """Bucket and count; one loop over the bytes, since a long run has millions of them."""
    counts: dict[int, int] = {}
    bucket = 0
    following = iter(payload)
    for word in following:
        if word > _SEVEN_BITS:
            word = _longer(word, following)
        if word & 1:
            bucket += (word + 1) >> 1
        else:
            counts[bucket] = word >> 1
            bucket += 1
    return counts


def _longer(first: int, following: Iterator[int]) -> int:
    """A number of several bytes, of which the first has been read."""
    found, shift = first & _SEVEN_BITS, 7
    for byte in following:
        found |= (byte & _SEVEN_BITS) << shift
        if byte <= _SEVEN_BITS:
            break
        shift += 7
    return found
