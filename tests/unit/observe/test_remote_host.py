"""The host of a remote server: SSH and node_exporter."""

import asyncio
import os
import ssl
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.fakes import FakeClock
from tests.integration.support import certificates
from tests.ticks import figures
from tests.unit.observe.captured import FACTS, exporter_page, reading
from tuibench.base.errors import UsageError
from tuibench.metrics.figures import core_shares, read
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.tick import HOST
from tuibench.observe.host import STORED, HostCounters, host_tick
from tuibench.observe.proc_text import (
    COMMAND,
    NO_NUMBER,
    RemoteFacts,
    parse_facts,
    parse_totals,
    request_line,
)
from tuibench.observe.remote_host import (
    FIRST_NOTE,
    MADE_OF,
    NOTE,
    PROCESSORS,
    TIME,
    HostAddress,
    HostSourceError,
    NamedSample,
    NodeExporterSource,
    RemoteHost,
    SshSource,
    parse_host_metrics,
    parse_page,
)

# A host beside the ticks: samples, gaps with reasons, and how long a lost one is left alone.


class Played:
    """A host of two cores. `failure` is raised; nothing is answered while `gate` is closed."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.reads = 0
        self.failure = ""
        self.gate = asyncio.Event()
        self.gate.set()

    async def read(self) -> HostCounters:
        self.reads += 1
        await self.gate.wait()
        if self.failure:
            raise HostSourceError(self.failure)
        totals = parse_page(exporter_page(self.seconds))
        assert totals is not None
        return totals

    def follow(self, server: ServerInfo) -> None:
        raise AssertionError("the server is the same")

    async def close(self) -> None:
        self.reads = -1


class Tried:
    """A remote host that is ticked by hand."""

    def __init__(self) -> None:
        self.source, self.clock = Played(), FakeClock()
        self.host = RemoteHost(self.source, "ssh:db1", self.clock, 1.0)

    async def tick(self, seconds: float = 1.0, patience: float = 60.0) -> NamedSample:
        self.clock.advance(seconds)
        self.source.seconds += seconds
        self.host.begin()
        return await self.host.finish(patience)


async def test_the_first_reading_is_what_the_second_is_compared_with() -> None:
    tried = Tried()
    assert await tried.tick() == NamedSample(None, FIRST_NOTE)
    found = await tried.tick(2.0)
    assert found.sample is not None
    host = found.sample.moved("", HOST)
    assert (host.sums[HOST + "seconds"], read("cpu_total", host), host.missing.get(HOST + "local", "")) == (
        2.0,
        50.0,
        "ssh:db1",
    )


async def test_a_lost_host_is_a_gap_with_its_reason_and_left_alone_longer_each_time() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.failure = "ssh db1: gone"
    assert await tried.tick() == NamedSample(None, "ssh db1: gone", failed=True)
    reads = tried.source.reads
    tries = []
    for number in range(10):
        assert await tried.tick() == NamedSample(None, "ssh db1: gone", failed=True)
        if tried.source.reads > reads:
            reads = tried.source.reads
            tries.append(number)
    assert tries == [0, 2, 6]


async def test_a_host_that_is_back_begins_from_scratch() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.failure = "gone"
    await tried.tick()
    tried.source.failure = ""
    assert await tried.tick() == NamedSample(None, FIRST_NOTE)
    assert (await tried.tick()).sample is not None


async def test_an_answer_that_is_late_is_a_gap_and_collected_later() -> None:
    tried = Tried()
    await tried.tick()
    tried.source.gate.clear()
    late = await tried.tick(patience=0.0)
    assert late == NamedSample(None, "no answer from ssh:db1 in time", failed=True)
    assert (await tried.tick(patience=0.0)).failed
    assert tried.source.reads == 2
    tried.source.gate.set()
    found = await tried.tick()
    assert found.sample is not None
    assert found.sample.moved("", HOST).sums[HOST + "seconds"] == 3.0


async def test_closing_ends_a_reading_under_way() -> None:
    tried = Tried()
    tried.source.gate.clear()
    await tried.tick(patience=0.0)
    await tried.host.close()
    assert tried.source.reads == -1


# Answers of a Linux host become the same figures as those of this host.


SERVER = ServerInfo(
    flavour=Flavour.MYSQL,
    version="9.7.1",
    version_text="9.7.1",
    where="db1:3306",
    identity="db1",
    datadir="/srv/mysql/data/",
    pid_file="/srv/mysql/server.pid",
    socket="",
    port=3306,
    is_local=False,
    uptime_seconds=15,
)


def facts_with(*changes: tuple[str, str], uptime: int = 15) -> RemoteFacts:
    text = "\n".join(FACTS)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    server = ServerInfo(
        **{name: getattr(SERVER, name) for name in SERVER.__struct_fields__} | {"uptime_seconds": uptime}
    )
    return parse_facts(text.splitlines(), server)


def test_facts() -> None:
    facts = facts_with()
    assert (facts.server_pid, facts.group, facts.note) == (9932, "/system.slice/mysql.service", "")
    assert (facts.disk_hardware, facts.card_hardware) == (("vda",), ())


def test_the_server_is_known_by_its_age_where_its_folder_cannot_be_read() -> None:
    hidden = (("9932 /srv/mysql/data", "9932 "), ("11493 /srv/mariadb/data", "11493 "))
    assert facts_with(*hidden).server_pid == 9932
    without_pid_file = (*hidden, ("pid file: 9932", "x: "))
    assert facts_with(*without_pid_file).note == "2 processes of that host may be the server"
    assert facts_with(*hidden, uptime=9999).note == "the server's process was not found on that host"


def test_two_answers_are_a_sample() -> None:
    facts = facts_with()
    before, after = parse_totals(reading(0), facts), parse_totals(reading(2.0, busy=100), facts)
    assert before is not None
    assert after is not None
    tick = host_tick(before, after, cores=2, origin="ssh:db1")
    assert tick is not None
    host = tick.moved("", HOST)
    assert (
        host.sums[HOST + "seconds"],
        host.levels.get(HOST + "cores"),
        host.missing.get(HOST + "local", ""),
    ) == (2.0, 2, "ssh:db1")
    assert figures(host, "cpu_total", "cpu_server", "cpu_tuibench") == (25.0, 25.0, 0)
    assert core_shares(host) == (50.0, 0.0)
    assert figures(host, "disk_read", "disk_write") == (51_200, 102_400)
    assert read("disk_write_ms", host) == 1.0
    assert figures(host, "net_received", "net_sent") == (1000, 100)
    assert (host.sums.get(HOST + "voluntary_switches"), host.sums.get(HOST + "involuntary_switches")) == (
        200,
        200,
    )
    assert (host.sums.get(HOST + "server_read_bytes"), host.sums.get(HOST + "server_written_bytes")) == (
        200,
        400,
    )
    assert read("memory_server", host) == 131_254 * 4096
    assert (host.levels.get(HOST + "cpu_limit"), host.levels.get(HOST + "memory_limit")) == (1.5, 2 << 30)
    assert read("throttled", host) == pytest.approx(10.0)


def test_a_server_that_ended_has_no_figures() -> None:
    facts = facts_with()
    totals = parse_totals(reading(1, process=False), facts)
    assert totals is not None
    assert (totals.processes, totals.switches, set(STORED) & totals.sums.keys()) == ({}, None, set())
    assert totals.note == "the server's process 9932 has ended"


@pytest.mark.parametrize("missing", ["/proc/uptime", "/proc/stat:cpu ", "/proc/meminfo:MemTotal"])
def test_an_answer_without_the_most_needful_is_none(missing: str) -> None:
    assert parse_totals([line for line in reading(1) if not line.startswith(missing)], facts_with()) is None


def test_a_number_of_a_file_that_cannot_be_read_is_missing_with_its_reason() -> None:
    def totals(old: str, new: str) -> HostCounters:
        text = "\n".join(reading(1.0))
        assert old in text
        found = parse_totals(text.replace(old, new).splitlines(), facts_with())
        assert found is not None
        return found

    memory = totals("MemAvailable:   3000000 kB", "MemAvailable:   ² kB")
    assert memory.missing == {"memory_used": NO_NUMBER}
    assert "memory_used" not in memory.levels
    assert memory.levels["memory_total"] == 4_000_000 * 1024
    disk = totals("vda 200 5 2100", "vda NaN 5 2100")
    assert disk.missing == {"reads": NO_NUMBER}
    assert "reads" not in disk.sums
    assert disk.sums["writes"] == 400
    process = totals(") S 1 2 3 0 -1 4 5 0 0 0 870 250", f") S 1 2 3 0 -1 4 5 0 0 0 {'8' * 5000} 250")
    assert process.processes == {}


def test_the_request_names_the_files_of_the_process_and_of_its_groups() -> None:
    line = request_line(3, facts_with())
    assert line.startswith("3 /proc/9932/task /proc/uptime ")
    assert "/sys/fs/cgroup/system.slice/memory.max" in line.split()
    assert request_line(4, RemoteFacts()).split()[1] == "/nowhere"


def test_a_group_whose_name_the_shell_would_read_is_left_out() -> None:
    assert "cgroup" not in request_line(1, RemoteFacts(server_pid=1, group="/a b/$(x)"))


def test_the_command_can_be_put_into_single_quotes_of_any_shell() -> None:
    assert not set(COMMAND) & set("'!\n\\")


# The value of --host-metrics.


@pytest.mark.parametrize(
    ("text", "user", "host", "port"),
    [
        ("ssh:ann@db1", "ann", "db1", None),
        ("ssh:db1", "", "db1", None),
        ("ssh://ann@db1:2222", "ann", "db1", 2222),
        ("ssh:ann@[::1]:2222", "ann", "::1", 2222),
        ("ssh:ann@10.0.0.9", "ann", "10.0.0.9", None),
    ],
)
def test_ssh(text: str, user: str, host: str, port: int | None) -> None:
    assert parse_host_metrics(text) == HostAddress(text, user=user, host=host, port=port)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://db1:9100/metrics", "http://db1:9100/metrics"),
        ("http://db1:9100", "http://db1:9100/metrics"),
        ("https://db1/", "https://db1/metrics"),
        ("http://db1/node/metrics?collect[]=cpu", "http://db1/node/metrics?collect[]=cpu"),
    ],
)
def test_a_node_exporter(text: str, url: str) -> None:
    assert parse_host_metrics(text).url == url


@pytest.mark.parametrize(
    "text",
    ["db1", "ssh:", "ssh:-oProxyCommand=x", "ssh:a@-b", "ssh:a b@c", "ssh:db1:0", "ssh:db1:70000", "ftp://db1",
     "http://", "http://db1:port/"],
)  # fmt: skip
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--host-metrics"):
        parse_host_metrics(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://db1:9100#ca=ca.pem", "'ca.pem' is no absolute path"),
        ("https://db1:9100#key=/k.pem", "'key=/k.pem' is no option of a URL"),
        ("https://db1:9100#ca=", "'ca=' is no option of a URL"),
        ("http://db1:9100#ca=/ca.pem", "is for an https:// URL"),
    ],
)
def test_files_of_a_url_are_absolute_and_of_two_kinds(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_host_metrics(text)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as refused:
        parse_host_metrics("http://ann:secret@db1:9100/metrics")
    assert "secret" not in str(refused.value)


# The page of a node_exporter, from a small HTTP server.


class Exporter(BaseHTTPRequestHandler):
    """Answers with its class' page; `lacks` refuses a choice of collectors, as one may."""

    page = exporter_page()
    lacks = False
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        refused = self.lacks and "collect" in self.path
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(b"missing collector: time" if refused else self.page.encode())

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def exporter() -> Iterator[tuple[type[Exporter], str]]:
    class Own(Exporter):
        asked: list[str] = []  # noqa: RUF012

    server = HTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Own, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Guarded(Exporter):
    """Answers those who log in; `/moved` sends them on to the figures."""

    logins: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        login = self.headers.get("Authorization")
        type(self).logins.append(login)
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/metrics")
            self.end_headers()
        elif login == f"Basic {b64encode(b'ann:s3cret').decode()}":
            super().do_GET()
        else:
            self.send_error(401)


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Guarded], str, Path]]:
    """An exporter behind TLS and a login: its class, its URL, and a folder with `ca.pem` and `.netrc`."""

    class Own(Guarded):
        logins: list[str | None] = []  # noqa: RUF012

    files = certificates.make(tmp_path, "localhost")
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(files.cert, files.key)
    login = tmp_path / ".netrc"
    login.write_text("machine localhost login ann password s3cret")
    login.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    server = HTTPServer(("127.0.0.1", 0), Own)
    server.socket = secure.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Own, f"https://localhost:{server.server_port}", tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def source_of(text: str) -> NodeExporterSource:
    return NodeExporterSource(parse_host_metrics(text), 5.0)


async def test_an_exporter_behind_tls_and_a_login_is_read(guarded: tuple[type[Guarded], str, Path]) -> None:
    page, url, folder = guarded
    source = source_of(f"{url}#ca={folder / 'ca.pem'}")
    assert (await source.read()).sums == parse_totals_of_page()
    (folder / ".netrc").rename(folder / "login")
    named = source_of(f"{url}/metrics#login={folder / 'login'},ca={folder / 'ca.pem'}")
    assert (await named.read()).sums == parse_totals_of_page()
    assert None not in page.logins


def parse_totals_of_page() -> dict[str, float]:
    found = parse_page(exporter_page())
    assert found is not None
    return dict(found.sums)


async def test_without_its_authority_or_login_the_reason_is_told_without_the_password(
    guarded: tuple[type[Guarded], str, Path],
) -> None:
    page, url, folder = guarded
    ca, login = f"ca={folder / 'ca.pem'}", folder / ".netrc"
    with pytest.raises(HostSourceError, match=r"certificate verify failed.*#ca=FILE"):
        await source_of(url).read()
    login.write_text("machine elsewhere login ann password s3cret\ndefault login ann password s3cret")
    with pytest.raises(HostSourceError, match=r"Unauthorized \(its login: a line of ~/.netrc"):
        await source_of(f"{url}#{ca}").read()
    login.write_text("machine localhost s3cret")
    with pytest.raises(HostSourceError, match="cannot be read") as caught:
        await source_of(f"{url}#{ca}").read()
    assert "s3cret" not in str(caught.value)
    login.chmod(0o644)
    with pytest.raises(HostSourceError, match="others may read the login"):
        await source_of(f"{url}#{ca},login={login}").read()
    assert set(page.logins) == {None}


async def test_a_login_does_not_follow_a_redirection(
    guarded: tuple[type[Guarded], str, Path],
) -> None:
    page, url, folder = guarded
    with pytest.raises(HostSourceError, match="Unauthorized"):
        await source_of(f"{url}/moved#ca={folder / 'ca.pem'}").read()
    assert [login is None for login in page.logins] == [False, True]


def test_two_pages_are_a_sample() -> None:
    before, after = parse_page(exporter_page()), parse_page(exporter_page(4.0))
    assert before is not None
    assert after is not None
    tick = host_tick(before, after, cores=2, origin="http://db1:9100")
    assert tick is not None
    host = tick.moved("", HOST)
    assert (
        host.sums[HOST + "seconds"],
        read("cpu_total", host),
        read("cpu_server", host),
        read("steal", host),
    ) == (4.0, 50.0, None, 12.5)
    assert core_shares(host) == (100.0, 0.0)
    assert figures(host, "disk_read", "disk_write") == (1000.0, 4096.0)
    assert figures(host, "disk_read_ms", "disk_write_ms") == (None, 2.0)
    assert figures(host, "net_received", "net_sent") == (50.0, 70.0)
    assert figures(host, "memory_used", "swap_used") == (1e9, 5e8)
    assert (
        host.levels.get(HOST + "cpu_limit"),
        host.levels.get(HOST + "memory_limit"),
        host.missing.get(HOST + "server_cpu", ""),
    ) == (None, None, NOTE)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "²", "1e400", "9" * 5000])
def test_a_value_of_the_page_that_is_no_number_is_missing_with_its_reason(value: str) -> None:
    lines = exporter_page().splitlines()
    replaced = 0
    for place, line in enumerate(lines):
        if line.startswith("#"):
            continue
        page = "\n".join([*lines[:place], line.rpartition(" ")[0] + f" {value}", *lines[place + 1 :]])
        metric = line.partition("{")[0].partition(" ")[0]
        if metric in (TIME, PROCESSORS):
            with pytest.raises(ValueError, match=f"{metric}: not a number that can be read"):
                parse_page(page)
            continue
        found = parse_page(page)
        assert found is not None
        lost = {name for name, made_of in MADE_OF.items() if metric in made_of}
        assert found.missing.keys() == lost
        assert not lost & (found.sums.keys() | found.levels.keys())
        replaced += bool(lost)
    assert replaced > 10


async def test_an_exporter_that_cannot_be_read_is_a_gap(exporter: tuple[type[Exporter], str]) -> None:
    page, url = exporter
    page.page = exporter_page().replace("node_time_seconds ", "node_time_seconds NaN #")
    source = NodeExporterSource(parse_host_metrics(url), 5.0)
    with pytest.raises(HostSourceError, match="node_time_seconds: not a number that can be read: 'NaN'"):
        await source.read()


@pytest.mark.parametrize("missing", ["node_cpu", "node_time", "node_memory_MemTotal"])
def test_a_page_without_the_most_needful_is_none(missing: str) -> None:
    page = "\n".join(line for line in exporter_page().splitlines() if not line.startswith(missing))
    assert parse_page(page) is None


async def test_only_the_collectors_needed_are_asked_for(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    reading = await NodeExporterSource(parse_host_metrics(url), 5.0).read()
    assert (len(reading.cores), reading.server_pid, reading.note) == (2, None, NOTE)
    assert served.asked == [
        "/metrics?collect[]=cpu&collect[]=meminfo&collect[]=diskstats&collect[]=netdev&collect[]=time"
    ]


async def test_an_exporter_that_lacks_one_is_asked_for_all(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    served.lacks = True
    source = NodeExporterSource(parse_host_metrics(url), 5.0)
    await source.read()
    await source.read()
    assert served.asked[1:] == ["/metrics", "/metrics"]


async def test_another_page_is_no_exporter(exporter: tuple[type[Exporter], str]) -> None:
    served, url = exporter
    served.page = "<html>hello</html>"
    with pytest.raises(HostSourceError, match="is not a node_exporter"):
        await NodeExporterSource(parse_host_metrics(url), 5.0).read()


async def test_an_unreachable_exporter_is_reported(exporter: tuple[type[Exporter], str]) -> None:
    with pytest.raises(HostSourceError, match=r"node_exporter 127\.0\.0\.1:1: .*refused"):
        await NodeExporterSource(parse_host_metrics("http://127.0.0.1:1"), 5.0).read()


# The ssh of the system, played by a script that runs the command on this host, or fails as ssh does.


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the command reads /proc")

RUNS = '#!/bin/sh\nfor last; do :; done\necho "$@" > "{log}"\nexec sh -c "$last"\n'
REFUSES = (
    '#!/bin/sh\necho "Warning: known" >&2\necho "ann@db1: Permission denied (publickey)." >&2\nexit 255\n'
)


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that stands for ssh; its arguments are in the file `log` beside it."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    script = tmp_path / "ssh"
    play(script, RUNS.format(log=tmp_path / "log"))
    return script


def play(script: Path, text: str) -> None:
    script.write_text(text)
    script.chmod(0o755)


def source(**server: object) -> SshSource:
    return SshSource(parse_host_metrics("ssh:ann@db1:2222"), replace(SERVER, **server))


@linux_only
async def test_this_host_over_ssh(fake_ssh: Path, tmp_path: Path) -> None:
    (tmp_path / "my pid").write_text(f"{os.getpid()}\n")
    reader = source(pid_file=str(tmp_path / "my pid"), datadir=f"{Path.cwd()}/")
    try:
        first, second = await reader.read(), await reader.read()
    finally:
        await reader.close()
    assert (first.server_pid, first.note) == (os.getpid(), "")
    assert len(first.cores) == len(second.cores) == os.cpu_count()
    assert second.at_ns >= first.at_ns
    assert 0 < second.sums["busy"] < second.sums["total"]
    assert second.processes[os.getpid()] > 0
    assert second.switches is not None
    assert second.levels["memory_server"] > 1e6
    arguments = (tmp_path / "log").read_text()
    assert "-oBatchMode=yes" in arguments
    assert "-p 2222 -l ann -- db1 exec sh -c" in arguments


@linux_only
async def test_a_refusal_is_in_the_words_of_ssh(fake_ssh: Path) -> None:
    play(fake_ssh, REFUSES)
    with pytest.raises(HostSourceError, match=r"^ssh db1: ann@db1: Permission denied \(publickey\)\.$"):
        await source().read()


@linux_only
async def test_a_lost_connection_is_opened_again(fake_ssh: Path) -> None:
    reader = source()
    try:
        await reader.read()
        process = reader._process
        assert process is not None
        process.kill()
        with pytest.raises(HostSourceError, match="ssh db1: the connection was closed"):
            await reader.read()
        assert len((await reader.read()).cores) == os.cpu_count()
    finally:
        await reader.close()
    assert process.returncode is not None


@linux_only
async def test_without_ssh_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostSourceError, match=r"ssh db1: .*No such file"):
        await source().read()


@linux_only
async def test_the_command_ends_with_its_input(fake_ssh: Path) -> None:
    reader = source()
    await reader.read()
    process = reader._process
    await reader.close()
    assert process is not None
    assert process.returncode is not None
