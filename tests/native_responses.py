"""`python -m tests.native_responses`: records responses of a server for the fuzz test of the native engine.

Appends lines to `native/tests/responses.txt`: whether the session has DEPRECATE_EOF, the form of the rows,
the bytes in hexadecimal. Run once for each flavour; `--server` selects the server.
"""

import argparse
import asyncio
from pathlib import Path

from tests.paths import ROOT
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.statements import CaptureResponse
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer

FILE = ROOT / "native" / "tests" / "responses.txt"

MADE = (
    """CREATE TABLE v (id INT PRIMARY KEY, n TINYINT UNSIGNED, s SMALLINT, y YEAR, b BIGINT UNSIGNED,
    d DECIMAL(30,10), f FLOAT, g DOUBLE, t VARCHAR(300), x VARBINARY(20), day DATE, at DATETIME(6),
    ts TIMESTAMP NULL, span TIME(3), j JSON)""",
    "CREATE PROCEDURE two() BEGIN SELECT 1; SELECT id, t FROM v; END",
)

STATEMENTS = (
    """INSERT INTO v VALUES (1, 255, -32768, 2024, 18446744073709551615, -1234567890.0123456789, 1.5,
    -2.5e300, 'text', x'00ff', '2024-02-29', '2024-02-29 23:59:59.999999',
    '2024-01-01 00:00:01', '-838:59:58.999', '{"a": 1}')""",
    "INSERT INTO v (id, t) VALUES (2, REPEAT('é', 140))",
    "SELECT * FROM v",
    "SELECT * FROM v WHERE id = 1",
    "SELECT id FROM v WHERE id = 9",
    "SELECT COUNT(*), SUM(b), MAX(at) FROM v",
    "UPDATE v SET n = 1 WHERE id = 2",
    "SELECT 1 FROM v UNION ALL SELECT 2 UNION ALL SELECT NULL",
    "CALL two()",
    "DO 1",
)


async def record(connection: Connection) -> list[str]:
    """The lines of all statements, as text and prepared; twice, as the server may then leave columns out."""
    without_eof = int(connection.raw.deprecates_eof)
    lines = []

    async def keep(form: str, packet: bytes) -> None:
        response = await connection.ask(CaptureResponse(packet))
        lines.append(f"{without_eof} {form} {response.hex()}")

    for sql in MADE:
        await connection.execute(sql)
    for sql in STATEMENTS:
        await keep("text", connection.packet(sql))
    await connection.execute("DELETE FROM v")
    for sql in STATEMENTS:
        prepared = await connection.prepare(sql)
        for _ in range(1 if sql.startswith("INSERT") else 2):
            await keep("binary", prepared.packet(()))
    return lines


async def recorded(program: str | None) -> list[str]:
    binary = await asyncio.to_thread(binaries.inspect_binary, program) if program else None
    async with await PrivateServer.start(binary) as server:
        connection = await connect(server.target)
        try:
            return [f"# {server.binary.flavour} {server.binary.version}", *await record(connection)]
        finally:
            await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.native_responses", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    lines = asyncio.run(recorded(options.server))
    with options.file.open("a") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
