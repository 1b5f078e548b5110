"""Lines of `samples.jsonl.gz`: a sample with its tick, as JSON, compressed by zlib as one gzip stream.

Histograms are lists: sum, minimum and maximum in µs, then for each bucket the difference of its number to the one
before, and its count. Each line is flushed, so a crash loses none that was written; a line depends on no other, but
the stream can be read only up to the first damaged byte.
"""

import zlib
from collections.abc import Iterator
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import IO

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


def unpacked(row: Packed) -> Histogram:
    """Decode a histogram. Raises ValueError for a damaged one."""
    if len(row) < 3 or len(row) % 2 == 0 or min(row) < 0:
        raise ValueError("not a histogram")
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
    """Decode a line. Raises ValueError for a damaged histogram."""
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


def compressed_lines(path: Path) -> Iterator[bytes]:
    """The whole lines of a compressed file, as far as it is intact. Raises OSError."""
    decompress, rest = zlib.decompressobj(GZIP), b""
    with path.open("rb") as stream:
        while data := stream.read(CHUNK):
            while data:
                try:
                    text = decompress.decompress(data, CHUNK)
                except zlib.error:
                    return
                data = decompress.unconsumed_tail
                *lines, rest = (rest + text).split(b"\n")
                yield from lines
