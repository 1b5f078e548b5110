"""A server's host other than this one (`--host-metrics`): its figures by ssh or from a node_exporter.

    ssh:USER@db1             the system's ssh; nothing is installed there
    http://db1:9100/metrics  a node_exporter; https://db1:9100/metrics#ca=FILE,login=FILE with TLS and a login

A reading starts at the beginning of a tick and is collected at its end, so that it does not delay the tick. A
late reading is collected by a later tick; a failed one is a gap with a reason. The delay before the next
attempt grows with each failure.
"""

import asyncio
import contextlib
import os
import re
from asyncio.subprocess import PIPE, Process
from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from tuibench.base import numerals
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import UsageError
from tuibench.metrics.series import growth
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick
from tuibench.observe.host import CpuTime, HostCounters, host_tick, known
from tuibench.observe.proc_text import COMMAND, RemoteFacts, parse_facts, parse_totals, request_line

if TYPE_CHECKING:
    from ssl import SSLContext

EXAMPLES = "for example ssh:ann@db1, ssh:ann@db1:2222 or http://db1:9100/metrics"
SSH, HTTP = "ssh", ("http", "https")
_USER = r"(?:(?P<user>[^@/\s-][^@/\s]*)@)?"
_HOST = r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^@:/\s\[\]-][^@:/\s\[\]]*)"
_SSH = re.compile(rf"{_USER}{_HOST}(?::(?P<port>\d+))?/?")


class HostAddress(NamedTuple):
    """A parsed `--host-metrics`.

    It is recorded and shown, so it has no password: the login is in a file.
    """

    text: str
    url: str = ""
    """Set for a node_exporter; `user`, `host` and `port` are set for ssh."""
    ca: str = ""
    """The file with the certificate of the exporter's issuer; empty for those of the system."""
    login: str = ""
    """The file with the login; empty for ~/.netrc."""
    user: str = ""
    host: str = ""
    port: int | None = None


class HostSourceError(Exception):
    """The figures cannot be read at the moment; the message is the reason."""


class HostSource(Protocol):
    """Reads a host. After an error the next reading starts from scratch."""

    async def read(self) -> HostCounters:
        """One reading. Raises HostSourceError."""

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again after a restart."""

    async def close(self) -> None: ...


def parse_host_metrics(text: str) -> HostAddress:
    """Parse `--host-metrics`. Raises UsageError for an invalid value."""
    scheme, _, rest = text.partition(":")
    if scheme in HTTP:
        return _exporter(text)
    match = _SSH.fullmatch(rest.removeprefix("//")) if scheme == SSH else None
    if match is None or not 0 < int(match["port"] or 22) < 65_536:
        raise UsageError(f"--host-metrics takes ssh:[USER@]HOST[:PORT] or a URL, not '{text}'", EXAMPLES)
    port = int(match["port"]) if match["port"] else None
    return HostAddress(text, user=match["user"] or "", host=match["host"].strip("[]"), port=port)


def _exporter(text: str) -> HostAddress:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--host-metrics: '{text}' is no URL: {error}", EXAMPLES) from error
    if not parts.hostname:
        raise UsageError(f"--host-metrics: '{text}' names no host", EXAMPLES)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "--host-metrics takes no user and password in a URL: it is recorded and shown",
            f"put the login into {NETRC}: machine {parts.hostname} login USER password PASSWORD",
        )
    files = {"ca": "", "login": ""}
    for option in filter(None, parts.fragment.split(",")):
        name, _, file = option.partition("=")
        if name not in files or not file:
            raise UsageError(f"--host-metrics: '{option}' is no option of a URL", "#ca=FILE, #login=FILE")
        files[name] = os.path.expanduser(file)
        if not os.path.isabs(files[name]):
            raise UsageError(
                f"--host-metrics: '{file}' is no absolute path", "the session runs in any folder"
            )
    if files["ca"] and parts.scheme != "https":
        raise UsageError("--host-metrics: #ca=FILE is for an https:// URL")
    path = parts.path if parts.path not in ("", "/") else "/metrics"
    url = parts._replace(path=path, fragment="").geturl()
    return HostAddress(text, url=url, ca=files["ca"], login=files["login"])


class NamedSample(NamedTuple):
    """A sample of a remote host, or the reason for its absence."""

    sample: Tick | None
    note: str = ""
    failed: bool = False
    """True if the host could not be read."""


COLLECTORS = ("cpu", "meminfo", "diskstats", "netdev", "time")
QUERY = "&".join(f"collect[]={name}" for name in COLLECTORS)
MAX_BYTES = 16 << 20
NOTE = "node_exporter has no figures of processes; ssh: has"
BAD_REQUEST = 400
MS_PER_SECOND = 1000.0

_LINE = re.compile(r"(node_\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PASS_ON = re.compile(
    r"(lo|loop|ram|zram|dm-|md|sr|veth|docker|br-|virbr|bond|team|tun|tap|cali|flannel|cni)[\d\w.-]*"
)
"""Devices that duplicate the traffic of others, or are not real devices."""


LONGEST_LINE = 4096

TIME, PROCESSORS = "node_time_seconds", "node_cpu_seconds_total"
MEMORY, AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"
SWAP, FREE_SWAP = "node_memory_SwapTotal_bytes", "node_memory_SwapFree_bytes"
DISKS = {
    "read_bytes": ("node_disk_read_bytes_total", 1.0),
    "written_bytes": ("node_disk_written_bytes_total", 1.0),
    "reads": ("node_disk_reads_completed_total", 1.0),
    "writes": ("node_disk_writes_completed_total", 1.0),
    "read_ms": ("node_disk_read_time_seconds_total", MS_PER_SECOND),
    "write_ms": ("node_disk_write_time_seconds_total", MS_PER_SECOND),
}
"""The metric and the unit of each figure of the disks."""
NETWORK = {
    "received_bytes": ("node_network_receive_bytes_total", 1.0),
    "sent_bytes": ("node_network_transmit_bytes_total", 1.0),
}
MADE_OF = {
    "memory_used": (MEMORY, AVAILABLE),
    "memory_total": (MEMORY,),
    "swap_used": (SWAP, FREE_SWAP),
    "swap_total": (SWAP,),
    **{name: (metric,) for name, (metric, _) in (DISKS | NETWORK).items()},
}


class ExporterLine(NamedTuple):
    """One line of node_exporter's page."""

    name: str
    labels: dict[str, str]
    value: float


NETRC = "~/.netrc"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
UNAUTHORIZED = 401
OTHERS_MAY_READ = 0o077


def read_login(file: str, host: str) -> tuple[str, str] | None:
    """User and password for a host from a file in the form of netrc(5), as curl reads it; None without the
    default file, or without an entry.

    Raises HostSourceError for a file that others may read, or that is not in this form.
    """
    from netrc import NetrcParseError, netrc

    path = file or os.path.expanduser(NETRC)
    try:
        if os.stat(path).st_mode & OTHERS_MAY_READ:
            if not file:
                return None
            raise HostSourceError(f"others may read the login in {path}: chmod 600 {path}")
        found = netrc(path).hosts.get(host)
    except FileNotFoundError:
        if not file:
            return None
        raise HostSourceError(f"there is no file {path} with the login") from None
    except (NetrcParseError, OSError, UnicodeDecodeError) as error:
        # The parser's message would quote the file.
        raise HostSourceError(f"the login in {path} cannot be read ({type(error).__name__})") from None
    return (found[0], found[2] or "") if found else None


class NodeExporterSource(HostSource):
    """One request per reading, limited to the collectors needed. The server's share is unknown, because there
    are no processes.

    The login is sent over TLS and to this host itself, and not to an address of a redirection.
    `timeout_seconds` limits each request.
    """

    def __init__(self, address: HostAddress, timeout_seconds: float) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._context: SSLContext | None = None
        self._query = "" if urlsplit(address.url).query else f"?{QUERY}"

    async def read(self) -> HostCounters:
        """One reading. Raises HostSourceError. The libraries are imported here, so that other runs do not
        import them.
        """
        from http.client import HTTPException
        from ssl import SSLCertVerificationError
        from urllib.error import HTTPError, URLError

        where = urlsplit(self._address.url).netloc
        try:
            totals = parse_page(await asyncio.to_thread(self._get))
        except (HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            remedy = ""
            if isinstance(error, HTTPError) and error.code == UNAUTHORIZED:
                remedy = f" (its login: a line of {self._address.login or NETRC} for this host, over https)"
            elif isinstance(reason, SSLCertVerificationError):
                remedy = " (the certificate of its issuer: #ca=FILE behind the URL)"
            raise HostSourceError(f"node_exporter {where}: {reason}{remedy}") from error
        if totals is None:
            raise HostSourceError(f"{where} answers, but is not a node_exporter of a Linux host")
        return totals

    def follow(self, server: ServerInfo) -> None:
        """Does nothing: the host remains the same."""

    async def close(self) -> None:
        """Does nothing: no connection is open between readings."""

    def _get(self) -> str:
        """The page. If an exporter lacks one of the collectors and refuses the query, all collectors are
        requested.
        """
        from urllib.error import HTTPError

        try:
            return self._get_url(self._address.url + self._query)
        except HTTPError as error:
            error.close()
            if error.code != BAD_REQUEST or not self._query:
                raise
        self._query = ""
        return self._get_url(self._address.url)

    def _tls(self) -> "SSLContext":
        """A context that trusts the system's certificates, or only the given one."""
        from ssl import create_default_context

        if self._context is None:
            self._context = create_default_context(cafile=self._address.ca or None)
        return self._context

    def _get_url(self, url: str) -> str:
        from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

        request, host = Request(url), urlsplit(url).hostname or ""  # noqa: S310 (http or https)
        is_secure = request.type == "https"
        login = read_login(self._address.login, host) if is_secure or host in LOOPBACK else None
        if login is not None:
            words = b64encode(":".join(login).encode()).decode("ascii")
            request.add_unredirected_header("Authorization", f"Basic {words}")
        handlers = (ProxyHandler({}), *([HTTPSHandler(context=self._tls())] if is_secure else []))
        with build_opener(*handlers).open(request, timeout=self._timeout_seconds) as answer:
            return str(answer.read(MAX_BYTES).decode("utf-8", errors="replace"))


def parse_figures(page: str) -> tuple[list[ExporterLine], dict[str, str]]:
    """The lines of node_exporter's own metrics, and the reason for each missing metric, by its name.

    A metric is missing if one of its values is not a number, or negative, because its sum would be wrong.
    Other metrics are ignored.
    """
    figures: list[ExporterLine] = []
    missing: dict[str, str] = {}
    for line in page.splitlines():
        if match := _LINE.match(line[:LONGEST_LINE]):
            name, labels, text = match.groups()
            value = numerals.amount(text)
            if value is None:
                missing[name] = numerals.unreadable(text)
            else:
                figures.append(ExporterLine(name, dict(_LABEL.findall(labels or "")), value))
    return [figure for figure in figures if figure.name not in missing], missing


def parse_page(page: str) -> HostCounters | None:
    """The totals of a page, by the clock of that host; None if the processors or the time are missing.

    Raises ValueError if these cannot be read.
    """
    figures, missing = parse_figures(page)
    for name in (TIME, PROCESSORS):
        if name in missing:
            raise ValueError(f"{name}: {missing[name]}")
    plain = {figure.name: figure.value for figure in figures if not figure.labels}
    at = plain.get(TIME)
    cores = _cores(figures)
    if at is None or not cores or not {MEMORY, AVAILABLE} <= plain.keys() | missing.keys():
        return None
    machine = CpuTime(*(sum(values) for values in zip(*cores, strict=True)))
    return HostCounters(
        at_ns=round(at * NS_PER_SECOND),
        sums=machine._asdict() | _of_devices(figures, DISKS) | _of_devices(figures, NETWORK),
        levels=_memory(plain),
        cores=tuple(cores),
        note=NOTE,
        missing={name: missing[of] for name, made_of in MADE_OF.items() for of in made_of if of in missing},
    )


def _cores(figures: list[ExporterLine]) -> list[CpuTime]:
    """Processor times by core number; these modes do not include guest time."""
    modes: dict[str, dict[str, float]] = {}
    for figure in figures:
        if figure.name == PROCESSORS and "mode" in figure.labels:
            modes.setdefault(figure.labels.get("cpu", ""), {})[figure.labels["mode"]] = figure.value
    ordered = sorted(modes, key=lambda core: (len(core), core))
    return [_cpu_time(modes[core]) for core in ordered]


def _cpu_time(modes: dict[str, float]) -> CpuTime:
    total = sum(modes.values())
    return CpuTime(total - modes.get("idle", 0.0) - modes.get("iowait", 0.0), total, modes.get("steal", 0.0))


def _memory(plain: dict[str, float]) -> dict[str, float]:
    total, available, swap, free = map(plain.get, (MEMORY, AVAILABLE, SWAP, FREE_SWAP))
    return known(
        {
            "memory_used": growth(available, total),
            "memory_total": total,
            "swap_used": growth(free, swap),
            "swap_total": swap,
        }
    )


def _by_device(figures: list[ExporterLine], name: str) -> dict[str, float]:
    return {
        figure.labels["device"]: figure.value
        for figure in figures
        if figure.name == name and "device" in figure.labels
    }


def _own_devices(names: dict[str, float]) -> set[str]:
    """Devices of the host itself; if there are none, all except loopbacks."""
    own = {name for name in names if not _PASS_ON.fullmatch(name)}
    return own or {name for name in names if not name.startswith(("lo", "ram", "zram"))}


def _of_devices(figures: list[ExporterLine], metrics: dict[str, tuple[str, float]]) -> dict[str, float]:
    """The sums of the host's own devices, by figure; without metrics that no device has."""
    tables = {name: _by_device(figures, metric) for name, (metric, _) in metrics.items()}
    wanted = _own_devices({device: value for table in tables.values() for device, value in table.items()})
    sums: dict[str, float] = {}
    for name, table in tables.items():
        if values := [table[device] for device in wanted if device in table]:
            sums[name] = int(metrics[name][1] * sum(values))
    return known(sums)


SSH_OPTIONS = (
    "-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5", "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
)  # fmt: skip
LINE_BYTES = 1 << 20
STDERR_BYTES = 2000
END_SECONDS = 1.0


class SshSource(HostSource):
    """One long-running command over ssh that prints figures on request; the next reading after its loss
    starts another.

    Keys, jump hosts and known hosts are those of ~/.ssh: ssh runs with BatchMode, so it never prompts. The
    command ends when its input is closed, including by the end of this process.
    """

    def __init__(self, address: HostAddress, server: ServerInfo) -> None:
        self._address = address
        self._server = server
        self._process: Process | None = None
        self._facts = RemoteFacts()
        self._number = 0

    @property
    def arguments(self) -> list[str]:
        """The command line of ssh."""
        address = self._address
        port = ("-p", str(address.port)) if address.port else ()
        user = ("-l", address.user) if address.user else ()
        return ["ssh", *SSH_OPTIONS, *port, *user, "--", address.host, f"exec sh -c '{COMMAND}'"]

    async def read(self) -> HostCounters:
        """One reading. Raises HostSourceError with the error message of ssh."""
        try:
            process = await self._connected()
            self._number += 1
            lines = await self._ask(process, request_line(self._number, self._facts), self._number)
            totals = parse_totals(lines, self._facts)
        except (OSError, ValueError, IndexError) as error:
            raise HostSourceError(await self._reason(str(error))) from error
        except asyncio.CancelledError:
            await self.close()
            raise
        if totals is None:
            raise HostSourceError(await self._reason("its figures are not complete"))
        return totals

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again, over a new connection."""
        self._server = server
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()

    async def close(self) -> None:
        """End the command; kill ssh if it does not exit by itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _connected(self) -> Process:
        if self._process is not None:
            return self._process
        self._process = await asyncio.create_subprocess_exec(
            *self.arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LINE_BYTES, start_new_session=True
        )
        path = self._server.pid_file.replace("\n", "")
        self._facts = parse_facts(await self._ask(self._process, f"{path}\n", 0), self._server)
        return self._process

    async def _ask(self, process: Process, request: str, number: int) -> list[str]:
        """The lines of a response. Raises OSError if the connection is lost."""
        if process.stdin is None or process.stdout is None:
            raise OSError("ssh has no pipes")
        process.stdin.write(request.encode())
        await process.stdin.drain()
        lines: list[str] = []
        while True:
            line = (await process.stdout.readline()).decode(errors="replace")
            if not line.endswith("\n"):
                raise OSError("the connection was closed")
            text = line[:-1]
            if text == f"end {number}":
                return lines
            if text.startswith("error "):
                raise OSError(text.removeprefix("error "))
            lines.append(text)

    async def _reason(self, otherwise: str) -> str:
        """The reason for a lost connection: the last line that ssh wrote to stderr; ends ssh."""
        process = self._process
        await self.close()
        output = b""
        if process is not None and process.stderr is not None:
            with contextlib.suppress(TimeoutError):
                output = await asyncio.wait_for(process.stderr.read(STDERR_BYTES), END_SECONDS)
        lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
        return f"ssh {self._address.host}: {lines[-1] if lines else otherwise}"


ANSWER_SECONDS = 5.0
CONNECT_SECONDS = 15.0
"""Timeout of a reading that opens a connection."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 30.0
TIMEOUT_SHARE, MIN_TIMEOUT_SECONDS = 0.5, 0.5
FIRST_NOTE = "the next sample has its figures"


class RemoteHost:
    """One host. `begin` never waits; `finish` waits at most for a part of a tick."""

    def __init__(self, source: HostSource, origin: str, clock: Clock, interval_seconds: float) -> None:
        self._source = source
        self._origin = origin
        self._clock = clock
        self._timeout_seconds = min(
            max(TIMEOUT_SHARE * interval_seconds, MIN_TIMEOUT_SECONDS), ANSWER_SECONDS
        )
        self._task: asyncio.Task[HostCounters] | None = None
        self._last: HostCounters | None = None
        self._note = ""
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._retry_at_ns = 0

    @classmethod
    def of(cls, text: str, server: ServerInfo, clock: Clock, interval_seconds: float) -> "RemoteHost":
        """The host of a value of `--host-metrics`; nothing is sent yet. Raises UsageError if the value is
        invalid.
        """
        address = parse_host_metrics(text)
        source: HostSource = (
            NodeExporterSource(address, ANSWER_SECONDS) if address.url else SshSource(address, server)
        )
        return cls(source, text, clock, interval_seconds)

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again after a restart."""
        self._last = None
        self._source.follow(server)

    def begin(self) -> None:
        """Start a reading, unless one is in progress or the delay after a failure has not passed."""
        if self._task is None and self._clock.now_ns() >= self._retry_at_ns:
            self._task = asyncio.create_task(self._read(), name="host metrics")

    async def finish(self, timeout_seconds: float | None = None) -> NamedSample:
        """The sample of the current reading, or the reason why there is none."""
        task = self._task
        if task is None:
            return NamedSample(None, self._note, failed=True)
        timeout = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if not done:
            return NamedSample(None, f"no answer from {self._origin} in time", failed=True)
        self._task = None
        try:
            reading = task.result()
        except HostSourceError as error:
            note = str(error)
            self._last, self._note = None, note
            self._retry_at_ns = self._clock.now_ns() + int(self._retry_seconds * NS_PER_SECOND)
            self._retry_seconds = min(2 * self._retry_seconds, LAST_RETRY_SECONDS)
            return NamedSample(None, note, failed=True)
        self._retry_seconds = FIRST_RETRY_SECONDS
        return self._sample(reading)

    async def close(self) -> None:
        """Cancel a reading in progress and close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._source.close()

    async def _read(self) -> HostCounters:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._source.read()
        except TimeoutError as error:
            raise HostSourceError(f"{self._origin} does not answer") from error

    def _sample(self, reading: HostCounters) -> NamedSample:
        before, self._last, self._note = self._last, reading, ""
        cores = len(reading.cores)
        if before is None or len(before.cores) != cores or before.server_pid != reading.server_pid:
            return NamedSample(None, FIRST_NOTE)
        found = host_tick(before, reading, cores=cores or 1, origin=self._origin)
        return NamedSample(found, "" if found else FIRST_NOTE)
