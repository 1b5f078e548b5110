"""Statements like those of the manuals, as they come out of a query log: each of their literals that is a
value in the profile is a parameter for the server, and gives the same rows as the literal.
"""

import asyncio
import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.support import commands, sbtest
from tests.integration.workload.test_traffic_profiles import logging_to
from tuibench.base.errors import SQLError
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.sql import CLASS_BY_VERB, split_statements, verb_of
from tuibench.workload.templates import observe

CORPUS = Path(__file__).with_name("statements.sql")
TABLES = ("customers", "orders", "order_lines", "tree", "sales", "counters", "`odd``name{1}`")


class Corpus(NamedTuple):
    setup: list[str]
    statements: list[str]


def corpus(flavour: Flavour) -> Corpus:
    """The tables and rows, and the statements of a flavour."""
    before, _, after = CORPUS.read_text().partition("\n-- statements\n")
    return Corpus(_texts(before, ""), _texts(after, flavour.value.lower()))


def _texts(text: str, flavour: str) -> list[str]:
    found = []
    for _, sql in split_statements(text):
        only = re.match(r"-- (mysql|mariadb)\n", sql)
        if not only or only[1] == flavour:
            found.append(sql[only.end() :] if only else sql)
    return found


def test_the_corpus_is_large_enough() -> None:
    assert all(len(corpus(flavour).statements) >= 200 for flavour in (Flavour.MYSQL, Flavour.MARIADB))


def plain(value: Any) -> Any:
    """A value such that a number, a date and a text of it are equal, however the protocol writes them."""
    if isinstance(value, bytes | bytearray):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, bool | int | float | Decimal):
        return float(f"{float(value):.9g}")
    if value is None:
        return None
    if isinstance(value, timedelta):
        minutes, seconds = divmod(value.total_seconds(), 60)
        value = f"{minutes // 60:.0f}:{minutes % 60:02.0f}:{seconds:09.6f}"
    text = re.sub(r"(\.\d*?)0+$", r"\1", str(value)).rstrip(".")
    try:
        return float(f"{float(text):.9g}")
    except ValueError:
        return re.sub(r"^0(?=\d:)| 00:00:00$", "", text)


async def outcome(connection: Connection, sql: str, values: Sequence[Any] | None) -> Any:
    """Rows of a read; of a write, how many rows were affected, and what the tables contain then."""
    await connection.execute("START TRANSACTION")
    try:
        if CLASS_BY_VERB.get(verb_of(sql)) != "write":
            if values is None:
                found = await connection.query(sql)
            else:
                found = await sbtest.fetch(connection, await connection.prepare(sql), tuple(values))
            return [tuple(map(plain, row)) for row in found]
        if values is None:
            affected = await connection.execute(sql)
        else:
            affected = await sbtest.run(connection, await connection.prepare(sql), tuple(values))
        contents = [await connection.query(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]
        return affected, [[tuple(map(plain, row)) for row in rows] for rows in contents]
    finally:
        await connection.execute("ROLLBACK")


def difference(expected: Any, found: Any) -> str:
    """The first parts that differ."""
    while (
        isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found)
    ):
        expected, found = next(pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1])
    return f"{expected!r} became {found!r}"


def bound(sql: str) -> tuple[str, list[Any]]:
    """The SQL with a `?` for each value, and the values."""
    observed = observe(sql)
    template, values = observed.template, observed.values
    text = template.fragments[0]
    for slot, rows, fragment in zip(template.slots, values, template.fragments[1:], strict=True):
        text += (", ".join([slot.row] * len(rows)) if slot.row else "?") + fragment
    return text, [value for rows in values for row in rows for value in row]


async def test_parameters_give_the_same_rows(database: Target, server: PrivateServer) -> None:
    flavour = server.binary.flavour
    setup, statements = corpus(flavour)
    wrong = []
    async with sbtest.connected(database) as connection:
        for sql in setup:
            await connection.execute(sql)
        for sql in statements:
            try:
                expected = await outcome(connection, sql, None)
            except SQLError as error:
                wrong.append(f"the original: {error}: {sql}")
                continue
            text, values = bound(sql)
            try:
                found = await outcome(connection, text, values)
            except SQLError as error:
                wrong.append(f"{error}: {text} {values}")
                continue
            if found != expected:
                wrong.append(f"{difference(expected, found)}: {text} {values}")
    assert not wrong, "\n".join(wrong)


async def test_their_log_becomes_a_profile_that_the_server_prepares(
    database: Target, server: PrivateServer, tmp_path: Path
) -> None:
    setup, statements = corpus(server.binary.flavour)
    log, profile = server.directory / f"{tmp_path.name}.log", tmp_path / "observed.toml"
    async with sbtest.connected(database) as connection:
        for sql in setup:
            await connection.execute(sql)
    async with logging_to(server, database, log), sbtest.connected(database) as connection:
        for sql in statements:
            await connection.execute(sql)
    words = ("profiles", "from-slow-log", str(log), f"--out={profile}", "--top=1000")
    made = await asyncio.to_thread(commands.tuibench, *words, target=database)
    assert (made.code, "refuses" in made.err) == (0, False), made.err
    read = library.load_profile(str(profile))
    assert sum(each.weight for each in read.transactions) == len(statements), profile.read_text()[:3000]
    checked = await asyncio.to_thread(commands.tuibench, "profiles", "check", str(profile), target=database)
    assert (checked.code, "the server prepares" in checked.out) == (0, True), checked.out + checked.err


async def test_statements_that_the_server_refuses_are_named(
    database: Target, server: PrivateServer, tmp_path: Path
) -> None:
    log, profile = server.directory / f"{tmp_path.name}.log", tmp_path / "observed.toml"
    head = "# Time: 2026-04-12T09:15:01.000000Z\n# User@Host: a[a] @ app []  Id: 11\n"
    log.write_text(f"{head}SELECT 1 + 2;\n{head}SELECT gone FROM nowhere WHERE a = 5;\n")
    words = ("profiles", "from-slow-log", str(log))
    made = await asyncio.to_thread(commands.tuibench, *words, target=database)
    assert made.code == 0, made.err
    assert "# Left out: 1 × SELECT gone FROM nowhere WHERE a = 5: the server refuses it" in made.out
    assert "nowhere" in made.err
    made = await asyncio.to_thread(commands.tuibench, *words, f"--out={profile}")
    assert made.code == 0, made.err
    checked = await asyncio.to_thread(commands.tuibench, "profiles", "check", str(profile), target=database)
    assert (checked.code, "refuses 1 of the 2 statements" in checked.err) == (1, True), checked.err
    assert "select_nowhere: " in checked.out
