"""Writing a record: schema, ticks, events, summary.

Line formats of a run directory.

status.jsonl    StatusLine   the status from then on: changes only
reports.jsonl   ReportLine   the full report at each checkpoint, and at the end

The lines of the samples are in `ticks`.

Lines of `samples.jsonl.gz`: a sample with its tick, as JSON, compressed by zlib as one gzip stream.

Histograms are lists: sum, minimum and maximum in µs, then for each bucket the difference of its number to
the one before, and its count. Each line is flushed, so a crash loses none that was written; a line depends
on no other, but the stream can be read only up to the first damaged byte.

Writer of the run directory during the run: complete lines, flushed at every tick, synced after every
event.

A crash of the program loses the current tick at most. A write error (a full disk) ends
the record, which is reported once, but not the run.
"""

import contextlib
import errno
import fcntl
import io
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import IO, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType, field
from msgspec.structs import asdict, fields, replace

from tuibench import files, paths, sanitize
from tuibench.errors import RunError
from tuibench.model.event import Event
from tuibench.model.findings import Headline
from tuibench.model.message import Status
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.server import Environment, ServerInfo, Target
from tuibench.model.summary import Summary
from tuibench.model.tick import (
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    Histogram,
    Sample,
    Tick,
    with_fewer_digits,
)
from tuibench.record import hdr_log
from tuibench.record.hdr_log import encode_histogram
from tuibench.record.sysbench_report import FullReport


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`plan.json`: what was run, and on which server. It never contains a password.

    `options` are the profile's options including defaults, `profile_text` is its file, `profile_digest` the
    SHA-256 of the compiled program: runs with equal digests send the same statements. `data_set` describes
    the tables, `headline` the headline figure of the samples.
    """

    schema: Literal["tuibench.run/1"] = "tuibench.run/1"
    version: str = ""
    session: str
    started_at: float
    plan: RunPlan
    target: Target
    server: ServerInfo
    data_set: str = ""
    options: dict[str, OptionValue] = {}
    profile_text: str = ""
    profile_digest: str = ""
    headline: Headline | None = None


StatusLine: Any = msgspec.defstruct(
    "StatusLine",
    [("at", float), *((each.name, each.type | UnsetType, UNSET) for each in fields(Status))],
    namespace={
        "__doc__": """A line of `status.jsonl`: the changes since the line before; the first line is complete.

        Of the settings, only the changed ones are stored. A `plan`, `ab` or `effect` of null means none.
        """
    },
    frozen=True,
    kw_only=True,
    omit_defaults=True,
)


class ReportLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `reports.jsonl`: sysbench's full report of the time since the previous one.

    The `last` one is the report at the end of the run; its `latency_histogram` is in HdrHistogram's encoding.
    """

    report: FullReport
    latency_histogram: str = ""
    last: bool = False


def status_from_line(line: msgspec.Struct, before: Status | None) -> Status | None:
    """The status from this line on; None if an earlier line with the rest is missing."""
    found = {name: value for name, value in asdict(line).items() if value is not UNSET and name != "at"}
    if before is None:
        required = {each.name for each in fields(Status) if each.required}
        return Status(**found) if found.keys() >= required else None
    if "settings" in found:
        known = {setting.name: setting for setting in (*before.settings, *found["settings"])}
        found["settings"] = tuple(known.values())
    return replace(before, **found)


GZIP = 31
"""zlib's number for a stream with the header of gzip."""
LEVEL = 7
"""Level 9 takes five times the processor time of a line, and saves 2 %."""
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
    values = asdict(tick) | {"hists": hists, "sums": _rounded(tick.sums), "peaks": _rounded(tick.peaks)}
    line = SampleLine(**{**asdict(sample), "slowest": sample.slowest[:1], "tick": PackedTick(**values)})
    return msgspec.json.encode(line) + b"\n"


def decode_sample(line: SampleLine) -> Sample:
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
        self._compress = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP, zlib.DEF_MEM_LEVEL + 1, zlib.Z_FILTERED)

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


PLAN, ENVIRONMENT, SUMMARY = "plan.json", "environment.json", "summary.json"
SAMPLES, EVENTS, STATUS = "samples.jsonl.gz", "events.jsonl", "status.jsonl"
REPORTS, HISTOGRAMS = "reports.jsonl", "histograms.hlog"
STREAMS = (SAMPLES, EVENTS, STATUS, REPORTS, HISTOGRAMS)


class RunRecorder:
    """Writes one run directory. `on_failure` is called once, with the reason of a write error."""

    def __init__(self, directory: Path, on_failure: Callable[[str], object] = lambda _: None) -> None:
        self.directory = directory
        self._on_failure = on_failure
        self._streams: dict[str, IO[bytes]] = {}
        self._samples: LineCompressor | None = None
        self._status: Status | None = None
        self._base_seconds: float | None = None
        self._end_seconds = 0.0
        self._syncing = ThreadPoolExecutor(1, "record")
        self._synced: Future[None] | None = None

    def open(self, record: PlanRecord, environment: Environment | None = None) -> None:
        """Create the directory, write plan and environment. Raises RunError if that is not possible."""
        try:
            paths.ensure_private(self.directory)
            self._streams = {name: files.private(self.directory / name, "xb") for name in STREAMS}
            # Held while this process writes, so that no other process removes the record.
            with contextlib.suppress(OSError):
                fcntl.flock(self._streams[SAMPLES].fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._samples = LineCompressor(self._streams[SAMPLES])
            self._write(PLAN, record)
            if environment is not None:
                self._write(ENVIRONMENT, environment)
        except OSError as error:
            raise RunError(
                f"cannot write the run's record to {self.directory}: {error.strerror}",
                "choose another place with --run-dir or TUIBENCH_HOME",
            ) from error

    def sample(self, sample: Sample) -> None:
        """Write a tick, with a line of latencies for each; not during a warm-up."""
        if self._samples is not None:
            line = encode_sample(sample)
            try:
                self._samples.write(line)
            except OSError as error:
                self._fail(error)
        if sample.throughput is not None and sample.elapsed_seconds > 0:
            if self._base_seconds is None:
                self._base_seconds = sample.at - sample.elapsed_seconds - sample.late_ms / 1e3
                self._put(HISTOGRAMS, hdr_log.log_header(self._base_seconds).encode())
            self._histograms(sample.tick)

    def remainder(self, tick: Tick) -> None:
        """Write the latencies after the last tick, which the summary includes, too."""
        if self._base_seconds is not None and tick.hist(RESPONSE).count:
            self._histograms(replace(tick, end=self._end_seconds + tick.seconds))

    def event(self, event: Event) -> None:
        """Write an event; it and everything before it is synced to the disk in the background."""
        self._append(EVENTS, event)
        # Sync in the background: the disk may be busy with the server's work.
        if self._streams and (self._synced is None or self._synced.done()):
            self._synced = self._syncing.submit(self._sync)

    def status(self, at: float, status: Status) -> None:
        """Write the changed parts of the status. `at` is wall clock time."""
        if not self._streams:
            return
        # The fields of a StatusLine that differ; empty if nothing has changed.
        before = self._status
        changed = {
            name: value
            for name, value in asdict(status).items()
            if before is None or getattr(before, name) != value
        }
        if before is not None and "settings" in changed:
            known = {setting.name: setting for setting in before.settings}
            changed["settings"] = tuple(each for each in status.settings if known.get(each.name) != each)
        if changed:
            self._append(STATUS, StatusLine(at=at, **changed))
            self._status = status

    def report(self, report: FullReport, latencies: Histogram | None = None, *, last: bool = False) -> None:
        """Write the full report of a checkpoint, or the last one with its latencies."""
        encoded = encode_histogram(latencies) if latencies is not None else ""
        self._append(REPORTS, ReportLine(report=report, latency_histogram=encoded, last=last))

    def summary(self, summary: Summary) -> None:
        """Write the summary, the last file of a run, atomically."""
        try:
            self._write(SUMMARY, summary)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Sync all files to the disk and close them."""
        self._syncing.shutdown()
        with contextlib.suppress(OSError):
            if self._samples is not None:
                self._samples.close()
            self._sync()
        self._close_streams()

    def _histograms(self, tick: Tick) -> None:
        start = max(self._end_seconds, tick.start)
        tagged = hdr_log.by_tag(tick.hist(RESPONSE), tick.hist(SERVICE), tick.named(TRANSACTION))
        self._put(HISTOGRAMS, hdr_log.log_lines(start, tick.end - start, tagged).encode())
        self._end_seconds = tick.end

    def _append(self, name: str, line: Event | StatusLine | ReportLine) -> None:
        self._put(name, msgspec.json.encode(line) + b"\n")

    def _put(self, name: str, data: bytes) -> None:
        stream = self._streams.get(name)
        if stream is None:
            return
        try:
            stream.write(data)
            stream.flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._close_streams()
        self._on_failure(
            f"the record of this run ends here: {self.directory} cannot be written: {error.strerror}"
        )

    def _close_streams(self) -> None:
        streams, self._streams, self._samples = self._streams, {}, None
        for stream in streams.values():
            with contextlib.suppress(OSError):
                stream.close()

    def _sync(self) -> None:
        for stream in tuple(self._streams.values()):
            with contextlib.suppress(ValueError):
                os.fsync(stream.fileno())

    def _write(self, name: str, value: msgspec.Struct) -> None:
        """Write a file atomically."""
        draft = self.directory / f".{name}"
        try:
            with files.private(draft, "wb") as stream:
                stream.write(pretty_json(value))
                stream.flush()
                os.fsync(stream.fileno())
            draft.rename(self.directory / name)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise


def pretty_json(value: msgspec.Struct) -> bytes:
    """Indented JSON without control characters, ending in a newline."""
    written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return sanitize.json_text(written).encode() + b"\n"
