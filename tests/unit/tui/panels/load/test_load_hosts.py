"""The hosts of a load on the Host screen."""

from msgspec.structs import replace

from tests.unit.tui.views import with_load
from tuibench.model.cluster.host import HostState, LoadHost
from tuibench.tui.panels.load.load_hosts import load_hosts, load_hosts_height
from tuibench.tui.text.spans import plain_text
from tuibench.tui.view import View

EAST = LoadHost(
    name="east",
    connections=128,
    transactions_per_second=4321.5,
    p95_ms=12.3,
    workers=8,
    worker_cpu=0.91,
    lag_p99_ms=0.4,
    cores=8,
    cpu_total=92.0,
    cpu_others=1.0,
    cpu_steal=0.0,
    cpu_throttled=7.0,
    clock_offset_ms=-3.25,
    clock_error_ms=0.3,
    round_trip_ms=0.6,
)
WEST = LoadHost(name="west", state=HostState.SILENT)
SOUTH = LoadHost(name="south", state=HostState.LOST)


def seen(*hosts: LoadHost) -> View:
    return with_load(hosts=hosts)


def texts(view: View, width: int = 78, height: int = 10) -> list[str]:
    return [plain_text(line).rstrip() for line in load_hosts(view, width, height)]


def test_a_load_from_this_host_alone_has_no_such_table() -> None:
    assert texts(seen()) == []
    assert load_hosts_height(seen(), 30) == 0


def test_each_host_has_a_line_of_figures_or_says_why_not() -> None:
    assert texts(seen(EAST, WEST, SOUTH)) == [
        "LOAD HOSTS           TPS      p95  conns   CPU     late  steal           clock",
        "east             4,321.5  12.3 ms    128  92 %   0.4 ms    7 %    −3.2 ±0.3 ms",
        "west          silent: its figures are missing until it answers",
        "south         lost: its work after its last report is not counted",
    ]
    assert load_hosts_height(seen(EAST, WEST, SOUTH), 30) == 5


def test_a_wide_screen_has_the_busiest_worker_and_the_round_trip() -> None:
    heading, line = texts(seen(EAST), width=110)
    assert "worker" in heading
    assert "91 %" in line
    assert "0.6 ms" in line


def test_too_little_space_shows_hosts_with_problems_first_and_counts_the_rest() -> None:
    many = [replace(EAST, name=f"load{number}") for number in range(40)]
    lines = texts(seen(*many, SOUTH), height=4)
    assert lines[1].startswith("south         lost")
    assert lines[2].startswith("load0 ")
    assert lines[-1] == "and 39 hosts more"
    assert load_hosts_height(seen(*many), 30) == 10


def test_what_is_too_much_is_written_loud() -> None:
    (_, line) = load_hosts(seen(EAST), 110, 5)
    loud = [span.text.strip() for span in line if span.role == "warn"]
    assert loud == ["92 %", "91 %", "7 %"]


def test_a_host_that_has_not_reported_yet() -> None:
    assert texts(seen(LoadHost(name="north")))[1] == "north         – has not reported yet"
