"""The run directory: the formats of its files, and the writer during the run.

    plan.json          PlanRecord    what is run, on which server
    environment.json   Environment   server and host at the start
    samples.jsonl.gz   SampleLine    a line for each sample with its tick
    events.jsonl       Event         a line for each event
    status.jsonl       StatusLine    a line for each change of the status, with the changed fields
    reports.jsonl      ReportLine    the full report at each checkpoint, and at the end
    summary.json       Summary       written last

The writer appends complete lines, flushes them at every tick, and syncs them to the disk after every event. A
crash of the program loses the current tick at most. A write error, such as a full disk, ends the record but
not the run, and is reported once.
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

from tuibench.base import files, paths, sanitize
from tuibench.base.errors import RunError
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
    """`plan.json`: what was run, and on which server. It never contains a password."""

    schema: Literal["tuibench.run/1"] = "tuibench.run/1"
    version: str = ""
    """The version of tuibench."""
    session: str
    started_at: float
    """Unix time."""
    plan: RunPlan
    target: Target
    server: ServerInfo
    data_set: str = ""
    """A description of the tables."""
    options: dict[str, OptionValue] = {}
    """The options of the profile, including defaults."""
    profile_text: str = ""
    """The text of the profile's file."""
    profile_digest: str = ""
    """SHA-256 of the compiled program: runs with equal digests send the same statements."""
    headline: Headline | None = None
    """The headline figure of the samples, if the profile has one."""


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
    """A line of `reports.jsonl`: sysbench's full report of the time since the previous one."""

    report: FullReport
    latency_histogram: str = ""
    """The latencies in HdrHistogram's encoding; empty except in the last report."""
    last: bool = False
    """True for the report at the end of the run."""


def status_from_line(line: msgspec.Struct, before: Status | None) -> Status | None:
    """The status after this line: `before` with its changes; None if the line before is missing."""
    found = {name: value for name, value in asdict(line).items() if value is not UNSET and name != "at"}
    if before is None:
        required = {each.name for each in fields(Status) if each.required}
        return Status(**found) if found.keys() >= required else None
    if "settings" in found:
        known = {setting.name: setting for setting in (*before.settings, *found["settings"])}
        found["settings"] = tuple(known.values())
    return replace(before, **found)


# Samples
#
# A line is the JSON of a sample with its tick. A histogram is a list: sum, minimum and maximum in µs, then
# for each bucket the difference of its number to the one before, and its count. All lines are one gzip
# stream. Each line is flushed, so that a crash loses no line that was written; the stream can be read up to
# the first damaged byte.

GZIP = 31
"""zlib's window size for a stream with a gzip header."""
LEVEL = 7
"""Level 9 takes five times the CPU time for a line, and saves 2 %."""
CHUNK = 1 << 16
LAST_BUCKET = 40_000
"""The highest number of a bucket that is accepted: more than an hour."""
STATEMENT_BITS = 7
"""Precision of the latencies of statements: 1.6 %. Those of transactions are recorded to a thousandth."""
DIGITS = 7
"""Significant digits of a fraction."""


class PackedTick(Tick, frozen=True, kw_only=True, omit_defaults=True):
    """A tick whose histograms are packed, each as a separate piece of JSON."""

    hists: dict[str, msgspec.Raw] = field(default_factory=dict)  # type: ignore[assignment]


class SampleLine(Sample, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `samples.jsonl.gz`: a sample with a packed tick."""

    tick: PackedTick


def packed(histogram: Histogram) -> msgspec.Raw:
    """A histogram as a JSON list, see above."""
    buckets = sorted(histogram.counts)
    steps = (after - before for before, after in pairwise((0, *buckets)))
    pairs = zip(steps, map(histogram.counts.__getitem__, buckets), strict=True)
    row = (histogram.sum_us, histogram.min_us, histogram.max_us, *chain.from_iterable(pairs))
    return msgspec.Raw(msgspec.json.encode(row))


def is_histogram(packed_row: msgspec.Raw) -> bool:
    """True if the row can be decoded as a histogram."""
    try:
        row = msgspec.json.decode(packed_row, type=list[int])
    except msgspec.DecodeError:
        return False
    return len(row) >= 3 and len(row) % 2 == 1 and min(row) >= 0 and sum(row[3::2]) <= LAST_BUCKET


def unpacked(packed_row: msgspec.Raw) -> Histogram:
    """The histogram of a JSON list."""
    row = msgspec.json.decode(packed_row, type=list[int])
    counts = dict(zip(accumulate(row[3::2]), row[4::2], strict=True))
    return Histogram(counts, sum(row[4::2]), *row[:3])


class RecordedHistograms(dict[str, Histogram]):
    """The histograms of a recorded tick. Each is decoded whenever it is read, because a report needs few of
    them, and all of them together would take much memory.
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
    """The sample of a line; its histograms are decoded when they are read."""
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
    """The decompressed bytes of a gzip stream up to its first damaged byte; then `is_damaged` is True."""

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
    """Writes one run directory. `on_failure` is called once, with the reason of the first write error."""

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
        """Create the directory, and write plan and environment. Raises RunError if that is not possible."""
        try:
            paths.ensure_private(self.directory)
            self._streams = {name: files.private(self.directory / name, "xb") for name in STREAMS}
            # The lock is held while this process writes, so that no other process removes the record.
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
        """Write a sample; after the warm-up, also its latencies."""
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
        """Write the latencies after the last sample, which the summary includes."""
        if self._base_seconds is not None and tick.hist(RESPONSE).count:
            self._histograms(replace(tick, end=self._end_seconds + tick.seconds))

    def event(self, event: Event) -> None:
        """Write an event, and sync it and all lines before it to the disk in the background."""
        self._append(EVENTS, event)
        # A sync may take long, because the server writes to the same disk.
        if self._streams and (self._synced is None or self._synced.done()):
            self._synced = self._syncing.submit(self._sync)

    def status(self, at: float, status: Status) -> None:
        """Write the changed fields of the status. `at` is Unix time."""
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
        """Write the full report of a checkpoint, or the `last` one with its latencies."""
        encoded = encode_histogram(latencies) if latencies is not None else ""
        self._append(REPORTS, ReportLine(report=report, latency_histogram=encoded, last=last))

    def summary(self, summary: Summary) -> None:
        """Write the summary atomically: it is the last file of a run, and marks the record as complete."""
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
