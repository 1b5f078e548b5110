"""The server's host from afar, and the client's beside it."""

from msgspec.structs import replace

from tests.ticks import changed
from tests.tui.support import script
from tests.tui.support.driving import LARGE, viewer
from tuibench.model.tick import ReplicaSample

AFAR = script.afar(script.hello(20))
LAST = AFAR.samples[-1]


async def test_live_shows_the_servers_host_and_the_clients_in_a_row() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        shown = screen.shown("host-panel")
        assert "HOST of the server" in shown
        assert "CPU 31 %, tuibench 24 %" in shown


async def test_the_host_screen_has_both_with_steal_and_limits() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        await screen.press("4")
        assert "of the server, ssh:ann@db1, limited to 6, steal 1 %" in screen.shown("cores")
        left, right = screen.shown("host-left"), screen.shown("host-right")
        assert "max 16 GiB" in left
        assert "CLIENT" in right
        assert "24 %" in right


async def test_a_lost_host_says_why() -> None:
    async with viewer(AFAR, size=LARGE) as screen:
        lost = changed(LAST, number=LAST.number + 1, host=None, host_note="ssh db1: gone")
        await screen.hear(lost)
        assert "ssh db1: gone" in screen.shown("host-panel")
        assert "31 %" not in screen.shown("host-panel")


async def test_replicas_stand_on_live_and_on_the_server_screen() -> None:
    replicas = (
        ReplicaSample(name="db2:3306", lag_seconds=3.0, lag_bytes=2048, is_running=True, state="applying"),
        ReplicaSample(name="db3:3306", note="no answer in time"),
    )
    async with viewer(AFAR, size=LARGE) as screen:
        await screen.hear(replace(LAST, number=LAST.number + 1, replicas=replicas))
        assert "Replica lag" in screen.shown("server-panel")
        assert "1 stopped" in screen.shown("server-panel")
        await screen.press("3")
        shown = screen.shown("server-left")
        assert "REPLICAS" in shown
        assert "2 KiB" in shown
        assert "no answer" in shown


async def test_without_a_source_it_is_the_clients() -> None:
    alone = replace(AFAR, samples=tuple(changed(each, host=None) for each in AFAR.samples))
    async with viewer(alone, size=LARGE) as screen:
        assert "HOST of the client" in screen.shown("host-panel")
        await screen.press("4")
        assert "--host-metrics" in screen.shown("cores")
