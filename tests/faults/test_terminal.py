"""Terminals that fail the viewer: one cell in size, without abilities, not read from. The run continues.

A terminal that is closed: tests/integration/tui/test_viewers.
"""

import asyncio

import pytest

from tests.faults.load import fault_spec, loaded
from tests.integration.support.terminal import Terminal, ends, terminal
from tuibench.servers.server import PrivateServer

SAMPLES = 8
ENV: dict[str, str] = {}


async def is_watched(viewer: Terminal) -> None:
    assert await asyncio.to_thread(viewer.shows, "DURABILITY"), viewer.text


async def test_one_cell(any_tables: PrivateServer) -> None:
    """At 1×1 nothing can be shown and nothing breaks; with room again, the screen is back."""
    async with loaded(fault_spec(any_tables.target)) as load:
        with terminal("attach", env=ENV) as viewer:
            await is_watched(viewer)
            viewer.resize(1, 1)
            await load.watcher.ticks(SAMPLES)
            viewer.resize(36, 120)
            viewer.type("3")
            assert await asyncio.to_thread(viewer.shows, "COMMANDS"), viewer.text
            viewer.type("qx")
            assert await asyncio.to_thread(ends, viewer), viewer.text
        await load.stop()


@pytest.mark.whole
async def test_without_abilities(any_tables: PrivateServer) -> None:
    async with loaded(fault_spec(any_tables.target)) as load:
        with terminal("attach", env={"TERM": "dumb"}) as viewer:
            await is_watched(viewer)
            viewer.type("qx")
            assert await asyncio.to_thread(ends, viewer), viewer.text
        await load.stop()


@pytest.mark.whole
async def test_nothing_is_read(any_tables: PrivateServer) -> None:
    """The viewer blocks on its terminal; the session ticks on for others, and later it shows what is now."""
    async with loaded(fault_spec(any_tables.target)) as load:
        with terminal("attach", env=ENV) as viewer:
            await is_watched(viewer)
            with viewer.unread():
                number = load.watcher.samples[-1].number
                await load.watcher.ticks(6 * SAMPLES)
                late = [each.late_ms for each in load.watcher.samples if each.number > number]
            assert sorted(late)[len(late) // 2] < 1000 * 0.25
            viewer.type("3")
            assert await asyncio.to_thread(viewer.shows, "COMMANDS"), viewer.text
            viewer.type("qx")
            assert await asyncio.to_thread(ends, viewer), viewer.text
        await load.stop()
