"""A socket that somebody sweeps away is put up again."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tuibench.errors import RunError
from tuibench.session.service.listener import SocketListener
from tuibench.session.service.unix_sockets import connect_unix


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"welcome")
    writer.close()


async def heard(path: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(sock=connect_unix(path))
    said = await reader.read()
    writer.close()
    return said


async def test_it_is_open_until_it_is_closed(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    door = SocketListener(path, greet)
    await door.open()
    await door.check()
    assert await heard(path) == b"welcome"
    door.close()
    assert not path.exists()


async def test_it_opens_again_where_its_folder_has_gone(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    door = SocketListener(path, greet)
    await door.open()
    shutil.rmtree(path.parent)
    path.parent.write_text("in the way")
    await door.check()
    path.parent.unlink()
    await door.check()
    assert await heard(path) == b"welcome"
    door.close()


async def test_what_another_put_there_stays(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    first, second = SocketListener(path, greet), SocketListener(path, greet)
    await first.open()
    path.unlink()
    await second.open()
    with pytest.raises(RunError):
        await first.open()
    first.close()
    assert await heard(path) == b"welcome"
    second.close()
