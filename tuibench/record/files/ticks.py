"""Lines of `samples.jsonl.gz`: a sample with its tick, as JSON, compressed by zlib as one gzip stream.

Histograms are lists: sum, minimum and maximum in µs, then for each bucket the difference of its number to the one
before, and its count. Each line is flushed, so a crash loses none that was written; a line depends on no other, but
the stream can be read only up to the first damaged byte.
"""

import errno
import io
import sys
import zlib
from itertools import accumulate, chain, pairwise
from typing import IO, Any

import msgspec
from msgspec.structs import asdict

from tuibench.model.histogram import Histogram
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import Tick

Packed = tuple[int, ...]
GZIP = 31
"""zlib's number for a stream with the header of gzip."""
LEVEL = 9
CHUNK = 1 << 16
LAST_BUCKET = 40_000
"""Beyond an hour."""
DIGITS = 9
"""Significant digits of a fraction."""


class PackedTick(Tick, frozen=True, kw_only=True, omit_defaults=True):
    """A tick with packed histograms."""

    hists: dict[str, Packed] = {}  # type: ignore[assignment]


class SampleLine(Sample, frozen=True, kw_only=True, omit_defaults=True):
    """A sample with a packed tick."""

    tick: PackedTick


def packed(histogram: Histogram) -> Packed:
    """Encode a histogram."""
    buckets = sorted(histogram.counts)
    steps = (after - before for before, after in pairwise((0, *buckets)))
    pairs = zip(steps, map(histogram.counts.__getitem__, buckets), strict=True)
    return (histogram.sum_us, histogram.min_us, histogram.max_us, *chain.from_iterable(pairs))


def is_histogram(row: Packed) -> bool:
    """True if a list can be decoded."""
    return len(row) >= 3 and len(row) % 2 == 1 and min(row) >= 0 and sum(row[3::2]) <= LAST_BUCKET


def unpacked(row: Packed) -> Histogram:
    """Decode a histogram."""
    counts = dict(zip(accumulate(row[3::2]), row[4::2], strict=True))
    return Histogram(counts, sum(row[4::2]), *row[:3])


def encode_sample(sample: Sample) -> bytes:
    """Encode a sample as a line. Of its slowest transactions only the first is kept."""
    tick = sample.tick
    hists = {name: packed(each) for name, each in tick.hists.items()}
    fields = asdict(tick) | {"hists": hists, "sums": _rounded(tick.sums), "peaks": _rounded(tick.peaks)}
    line = SampleLine(**{**asdict(sample), "slowest": sample.slowest[:1], "tick": PackedTick(**fields)})
    return msgspec.json.encode(line) + b"\n"


def decode_sample(line: SampleLine) -> Sample:
    """Decode a line."""
    fields = asdict(line.tick)
    hists = {name: unpacked(row) for name, row in line.tick.hists.items()}
    return Sample(**{**asdict(line), "tick": Tick(**(fields | {"hists": hists}))})


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {
        name: value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")
        for name, value in values.items()
    }


class LineCompressor:
    """Writes lines as a gzip stream that can be read up to the last line at any time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._compress = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)

    def write(self, line: bytes) -> None:
        """Write a line. Raises OSError."""
        self._stream.write(self._compress.compress(line) + self._compress.flush(zlib.Z_SYNC_FLUSH))
        self._stream.flush()

    def close(self) -> None:
        """Write the end of the gzip stream; the file stays open. Raises OSError."""
        self._stream.write(self._compress.flush(zlib.Z_FINISH))
        self._stream.flush()


class InflatedFile(io.RawIOBase):
    """The decompressed bytes of a gzip stream, as far as it is intact; if not to its end, it `is_damaged`."""

    def __init__(self, stream: IO[bytes], limit: int = sys.maxsize) -> None:
        super().__init__()
        self.is_damaged = False
        self._stream = stream
        self._left = limit
        self._inflate = zlib.decompressobj(GZIP)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill at most the buffer. Raises OSError, also for more bytes than the limit."""
        while not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._stream.read(CHUNK)
            try:
                text = self._inflate.decompress(data, len(buffer))
            except zlib.error:
                self.is_damaged = True
                return 0
            self._left -= len(text)
            if self._left < 0:
                raise OSError(errno.EFBIG, "it is too large when it is decompressed")
            if text or not data:
                buffer[: len(text)] = text
                return len(text)
        return 0
