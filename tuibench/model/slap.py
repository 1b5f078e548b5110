"""What `tuibench slap` found out: mysqlslap's figures, and those that it lacks."""

import msgspec

from tuibench.model.sample import Latency
from tuibench.model.summary import QueryTotals

OWN_QUERIES = "query"
"""The load type of a user's own statements."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One engine with one number of clients, `seconds` for each iteration.

    `engine` is empty for the server's own, `load_type` is `OWN_QUERIES` for those of a user. `queries` are
    what the clients sent in all iterations, without COMMITs and logins; `latency_ms` is of single queries.
    `errors` are by the server's code, `retries` the queries tried again. `server` is by how much the server's
    counters grew while the clients ran, `cpu_share` how busy the client was: 1 is one core for each worker.
    """

    engine: str
    load_type: str
    clients: int
    queries_per_client: int
    seconds: tuple[float, ...]
    queries: QueryTotals
    latency_ms: Latency | None
    errors: dict[str, int] = {}
    retries: int = 0
    server: dict[str, int] = {}
    cpu_share: float = 0.0
