"""Specification of a slap."""

import msgspec

from tuibench.model.plan import EngineChoice
from tuibench.model.results.summary import OWN_QUERIES
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.workload.slap.script import QueryCycle, SlapScript, StorageEngine

CHARSETS = {Flavour.MARIADB: "latin1", Flavour.MYSQL: CHARSET}
"""What mysqlslap speaks, whatever its server's default: texts in another than a table's are converted there,
which on MariaDB with latin1 tables is a twentieth of the whole time."""


class Hooks(msgspec.Struct, frozen=True):
    """Shell commands to run before the clients start and after they have ended."""

    before: str = ""
    after: str = ""


class SlapSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One mysqlslap test on one server.

    The database of `target` is the schema. Without `engines` the tables use the server's default engine. Each
    client gets its share of `queries_in_all`; `queries_per_client` is 0 if not given, and if both are 0, each
    client runs its list once. With `drops`, an existing schema is dropped at the start, and the test's own at
    the end; `may_drop` allows the former for a schema with other tables. `init_sql` is run at logins.
    """

    target: Target
    script: SlapScript
    clients: tuple[int, ...] = (1,)
    iterations: int = 1
    engines: tuple[StorageEngine, ...] = ()
    load_type: str = OWN_QUERIES
    queries_in_all: int = 0
    queries_per_client: int = 0
    commit: int = 0
    detach: int = 0
    drops: bool = True
    may_drop: bool = False
    hooks: Hooks = Hooks()
    init_sql: str = ""
    seed: int = 0
    workers: int | None = None
    load_engine: EngineChoice = EngineChoice.AUTO

    def rhythm(self, clients: int) -> QueryCycle:
        """How each client runs its queries; at least once, as mysqlslap does."""
        queries = self.queries_per_client or self.queries_in_all // clients
        return QueryCycle(queries=queries or len(self.script.queries), commit=self.commit, detach=self.detach)

    def charset(self, flavour: Flavour) -> str:
        """What the clients speak: what mysqlslap does, if all that they send is ASCII."""
        sent = (self.init_sql, *(query.sql for query in self.script.queries))
        return CHARSETS[flavour] if all(text.isascii() for text in sent) else CHARSET
