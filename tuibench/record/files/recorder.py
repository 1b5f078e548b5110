"""Writer of the run directory during the run: complete lines, flushed at every tick, synced after every
event.

A crash of the program loses the current tick at most. A write error (a full disk) ends
the record, which is reported once, but not the run.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from tuibench import files, paths, sanitize
from tuibench.errors import RunError
from tuibench.model.event import Event
from tuibench.model.histogram import Histogram
from tuibench.model.measurements.environment import Environment
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import Status
from tuibench.model.results.summary import Summary
from tuibench.model.tick import RESPONSE, SERVICE, TRANSACTION, Tick
from tuibench.record.files import hdr_log
from tuibench.record.files.hdr_log import encode_histogram
from tuibench.record.files.schema import PlanRecord, ReportLine, StatusLine, status_changes
from tuibench.record.files.ticks import LineCompressor, encode_sample
from tuibench.record.sysbench_report import FullReport

PLAN, ENVIRONMENT, SUMMARY = "plan.json", "environment.json", "summary.json"
SAMPLES, EVENTS, STATUS = "samples.jsonl.gz", "events.jsonl", "status.jsonl"
REPORTS, HISTOGRAMS = "reports.jsonl", "histograms.hlog"
STREAMS = (SAMPLES, EVENTS, STATUS, REPORTS, HISTOGRAMS)


def _ignore(_: str) -> None:
    """Ignore the failure."""


class RunRecorder:
    """Writes one run directory. `on_failure` is called once, with the reason of a write error."""

    def __init__(self, directory: Path, on_failure: Callable[[str], object] = _ignore) -> None:
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
            _lock(self._streams[SAMPLES])
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
        self._write_line(encode_sample(sample))
        if sample.throughput is not None and sample.elapsed_seconds > 0:
            if self._base_seconds is None:
                self._begin_histograms(sample.at - sample.elapsed_seconds - sample.late_ms / 1e3)
            self._histograms(sample.tick)

    def remainder(self, tick: Tick) -> None:
        """Write the latencies after the last tick, which the summary includes, too."""
        if self._base_seconds is not None and tick.hist(RESPONSE).count:
            self._histograms(replace(tick, end=self._end_seconds + tick.seconds))

    def event(self, event: Event) -> None:
        """Write an event; it and everything before it is synced to the disk in the background."""
        self._append(EVENTS, event)
        self._sync_soon()

    def status(self, at: float, status: Status) -> None:
        """Write the changed parts of the status. `at` is wall clock time."""
        if not self._streams:
            return
        changes = status_changes(self._status, status)
        if changes:
            self._append(STATUS, StatusLine(at=at, **changes))
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

    def _begin_histograms(self, base_seconds: float) -> None:
        self._base_seconds = base_seconds
        self._put(HISTOGRAMS, hdr_log.log_header(base_seconds).encode())

    def _histograms(self, tick: Tick) -> None:
        start = max(self._end_seconds, tick.start)
        tagged = hdr_log.by_tag(tick.hist(RESPONSE), tick.hist(SERVICE), tick.named(TRANSACTION))
        self._put(HISTOGRAMS, hdr_log.log_lines(start, tick.end - start, tagged).encode())
        self._end_seconds = tick.end

    def _write_line(self, line: bytes) -> None:
        """Write a line of samples."""
        if self._samples is None:
            return
        try:
            self._samples.write(line)
        except OSError as error:
            self._fail(error)

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

    def _sync_soon(self) -> None:
        """Sync in the background: the disk may be busy with the server's work."""
        if self._streams and (self._synced is None or self._synced.done()):
            self._synced = self._syncing.submit(self._sync)

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


def _lock(stream: IO[bytes]) -> None:
    """Lock held while this process writes, so that no other process removes the record."""
    with contextlib.suppress(OSError):
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
