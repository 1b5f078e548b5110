"""Lines of `samples.jsonl.gz`: a sample with its tick, as JSON, compressed by zlib as one gzip stream.

Histograms are lists: sum, minimum and maximum in µs, then for each bucket the difference of its number to
the one before, and its count. Each line is flushed, so a crash loses none that was written; a line depends
on no other, but the stream can be read only up to the first damaged byte.
"""

import errno
import io
import sys
import zlib
from collections.abc import Mapping
from itertools import accumulate, chain, pairwise
from typing import IO, Any

import msgspec
from msgspec import field
from msgspec.structs import asdict, replace

from tuibench.model.histogram import Histogram, with_fewer_digits
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import STATEMENT, Tick

GZIP = 31
"""zlib's number for a stream with the header of gzip."""
LEVEL = 9
CHUNK = 1 << 16
LAST_BUCKET = 40_000
"""Beyond an hour."""
STATEMENT_BITS = 7
"""Latencies of statements are recorded to 1.6 %, those of transactions to a thousandth."""
DIGITS = 7
"""Significant digits of a fraction."""


class PackedTick(Tick, frozen=True, kw_only=True, omit_defaults=True):
    """A tick with packed histograms, each as JSON of its own."""

    hists: dict[str, msgspec.Raw] = field(default_factory=dict)  # type: ignore[assignment]


class SampleLine(Sample, frozen=True, kw_only=True, omit_defaults=True):
    """A sample with a packed tick."""

    tick: PackedTick


def packed(histogram: Histogram) -> msgspec.Raw:
    """Encode a histogram."""
    buckets = sorted(histogram.counts)
    steps = (after - before for before, after in pairwise((0, *buckets)))
    pairs = zip(steps, map(histogram.counts.__getitem__, buckets), strict=True)
    row = (histogram.sum_us, histogram.min_us, histogram.max_us, *chain.from_iterable(pairs))
    return msgspec.Raw(msgspec.json.encode(row))


def is_histogram(packed_row: msgspec.Raw) -> bool:
    """True if it can be decoded."""
    try:
        row = msgspec.json.decode(packed_row, type=list[int])
    except msgspec.DecodeError:
        return False
    return len(row) >= 3 and len(row) % 2 == 1 and min(row) >= 0 and sum(row[3::2]) <= LAST_BUCKET


def unpacked(packed_row: msgspec.Raw) -> Histogram:
    """Decode a histogram."""
    row = msgspec.json.decode(packed_row, type=list[int])
    counts = dict(zip(accumulate(row[3::2]), row[4::2], strict=True))
    return Histogram(counts, sum(row[4::2]), *row[:3])


class RecordedHistograms(dict[str, Histogram]):
    """The histograms of a recorded tick, each decoded when it is read: a report needs few of them, and all of
    them together take much memory.
    """

    def __init__(self, rows: Mapping[str, msgspec.Raw]) -> None:
        super().__init__(rows)  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> Histogram:
        return unpacked(super().__getitem__(name))  # type: ignore[arg-type]

    def get(self, name: str, default: Any = None) -> Any:
        row = super().get(name)
        return default if row is None else unpacked(row)  # type: ignore[arg-type]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == other

    __hash__ = None


def encode_sample(sample: Sample) -> bytes:
    """Encode a sample as a line. Of its slowest transactions only the first is kept."""
    tick = sample.tick
    hists = {
        name: packed(with_fewer_digits(each, STATEMENT_BITS) if name.startswith(STATEMENT) else each)
        for name, each in tick.hists.items()
    }
    fields = asdict(tick) | {"hists": hists, "sums": _rounded(tick.sums), "peaks": _rounded(tick.peaks)}
    line = SampleLine(**{**asdict(sample), "slowest": sample.slowest[:1], "tick": PackedTick(**fields)})
    return msgspec.json.encode(line) + b"\n"


def decode_sample(line: SampleLine) -> Sample:
    """Decode a line."""
    tick = Tick(**(asdict(line.tick) | {"hists": RecordedHistograms(line.tick.hists)}))
    return Sample(**{**asdict(line), "tick": tick})


def decoded(sample: Sample) -> Sample:
    """The sample with all its histograms, as it is sent to viewers."""
    return replace(sample, tick=replace(sample.tick, hists=dict(sample.tick.hists.items())))


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {
        name: value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")
        for name, value in values.items()
    }


class LineCompressor:
    """Writes lines as a gzip stream that can be read up to the last line at any time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._compress = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP, zlib.DEF_MEM_LEVEL + 1)

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
