"""What moves the result beside the plan: the hosts, the way to the server, its settings, how large it is."""

from collections.abc import Sequence

from tuibench.clock import Clock
from tuibench.errors import SQLError
from tuibench.model.server import Flavour
from tuibench.model.sweep import Surroundings
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import server_info
from tuibench.mysql.own import connect_own
from tuibench.observe.environment import environment
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

TABLESPACES = {Flavour.MARIADB: "innodb_sys_tablespaces", Flavour.MYSQL: "innodb_tablespaces"}
"""Where the size of the files is told, to whoever has the PROCESS privilege."""


async def look_around(target: Target, clock: Clock) -> Surroundings:
    """The server now. Raises ServerUnavailableError when it cannot be reached."""
    connection = await connect_own(target, use_database=False)
    try:
        info = await server_info(connection)
    finally:
        await connection.close()
    return Surroundings(server=info, environment=await environment(target, info, clock.now_ns))


async def files_bytes(target: Target, program: Program) -> int | None:
    """How large the files of a program's tables are; None if the server does not tell."""
    names = data_set(program).table_names()
    connection = await connect_own(target)
    try:
        flavour = (await server_info(connection)).flavour
        return await _files_bytes(connection, flavour, names)
    except SQLError:
        return None
    finally:
        await connection.close()


async def _files_bytes(connection: Connection, flavour: Flavour, names: Sequence[str]) -> int | None:
    """Of the tables' own files, be they of one partition or several."""
    database = connection.target.database
    rows = await connection.query(
        f"SELECT name, file_size FROM information_schema.{TABLESPACES[flavour]} "  # noqa: S608
        f"WHERE name LIKE {connection.quote(database + '/%')}"
    )
    wanted = {f"{database}/{name}" for name in names}
    return sum(int(size) for name, size in rows if str(name).partition("#")[0] in wanted) or None
