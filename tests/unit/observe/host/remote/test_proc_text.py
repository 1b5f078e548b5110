"""Answers of a Linux host become the same figures as those of this host."""

import pytest

from tests.ticks import figures
from tests.unit.observe.host.remote.captured import FACTS, reading
from tuibench.metrics.figures import core_shares, read
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.tick import HOST
from tuibench.observe.host.figures import host_tick
from tuibench.observe.host.remote.proc_text import (
    COMMAND,
    RemoteFacts,
    parse_facts,
    parse_totals,
    request_line,
)

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
    tick = host_tick(before, after, cores=2, server_pid=9932, origin="ssh:db1")
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
    assert (totals.processes, totals.switches, totals.storage) == ({}, None, None)


@pytest.mark.parametrize("missing", ["/proc/uptime", "/proc/stat:cpu ", "/proc/meminfo:MemTotal"])
def test_an_answer_without_the_most_needful_is_none(missing: str) -> None:
    assert parse_totals([line for line in reading(1) if not line.startswith(missing)], facts_with()) is None


def test_the_request_names_the_files_of_the_process_and_of_its_groups() -> None:
    line = request_line(3, facts_with())
    assert line.startswith("3 /proc/9932/task /proc/uptime ")
    assert "/sys/fs/cgroup/system.slice/memory.max" in line.split()
    assert request_line(4, RemoteFacts()).split()[1] == "/nowhere"


def test_a_group_whose_name_the_shell_would_read_is_left_out() -> None:
    assert "cgroup" not in request_line(1, RemoteFacts(server_pid=1, group="/a b/$(x)"))


def test_the_command_can_be_put_into_single_quotes_of_any_shell() -> None:
    assert not set(COMMAND) & set("'!\n\\")
