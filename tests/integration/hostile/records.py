"""Foreign text where a user meets it: a stranger on the server, a recorded run."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.hostile import HOSTILE
from tests.integration.support import sbtest
from tests.paths import DATA
from tuibench.model.server import Target
from tuibench.mysql.connection import connect

RECORDED = DATA / "recorded-run"
SCHEMA = HOSTILE[:60].replace("\r\n", "")
"""As much of it as the name of a database may have."""

LONG_SECONDS = 10_000
"""The stranger works for as long as it is looked at."""

POISONED = (
    "text",
    "profile",
    "version_text",
    "where",
    "user",
    "os",
    "name",
    "cpu_model",
    "change",
    "data_set",
)


@asynccontextmanager
async def strangers(target: Target) -> AsyncIterator[None]:
    """Another user works in a database with escapes in its name."""
    name = f"`{SCHEMA}`"
    async with sbtest.connected(target, use_database=False) as admin:
        await admin.execute(f"CREATE DATABASE {name}")
        other = await connect(target, use_database=False)
        await other.execute(f"USE {name}")
        other.questions = None
        work = asyncio.create_task(other.query(f"SELECT SLEEP({LONG_SECONDS}) /* {SCHEMA} */"))
        try:
            yield
        finally:
            await admin.execute(f"KILL {other.thread_id}")
            await asyncio.wait({work})
            work.exception()
            other.abort()
            await admin.execute(f"DROP DATABASE {name}")


def login(target: Target) -> dict[str, str]:
    return {"MYSQL_PWD": target.password}


def poisoned_run(home: Path, name: str) -> str:
    """A recorded run with escapes in its mark, its profile and its server's version."""
    folder = home / "data" / "runs" / name
    shutil.copytree(RECORDED, folder)
    for file in ("events.jsonl", "plan.json", "summary.json", "environment.json"):
        path = folder / file
        path.write_text("".join(_poisoned(path.read_text(), file)))
    return folder.name


def _poisoned(text: str, file: str) -> list[str]:
    documents = [text] if file.endswith(".json") else text.splitlines()
    return [json.dumps(_with_escapes(json.loads(each))) + "\n" for each in documents]


def _with_escapes(value: object) -> object:
    """Every text at one of these names has the escapes at its end."""
    if isinstance(value, list):
        return [_with_escapes(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each + HOSTILE if name in POISONED and isinstance(each, str) else _with_escapes(each)
        for name, each in value.items()
    }
