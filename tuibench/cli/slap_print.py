"""`--only-print`: what would be sent, as mysqlslap prints it, without a server."""

from collections.abc import Iterator

from tuibench.session.slap.schema import quoted
from tuibench.session.slap.spec import SlapSpec
from tuibench.workload.slap.script import Engine, client_program

ONLY_KEY = ("796c4422-1d94-102a-9d6d-00e0812d",)
"""Stands for the key of a row, as in mysqlslap."""


def lines(spec: SlapSpec) -> Iterator[str]:
    """Every statement, each client's after the other's."""
    drop = f"DROP SCHEMA IF EXISTS {quoted(spec.target.database)};"
    for engine in spec.engines or (None,):
        for clients in spec.clients:
            for _ in range(spec.iterations):
                yield from [drop] * spec.drops
                yield from _iteration(spec, engine, clients)
        yield from [drop] * spec.drops


def _iteration(spec: SlapSpec, engine: Engine | None, clients: int) -> Iterator[str]:
    if spec.script.create:
        yield f"CREATE SCHEMA {quoted(spec.target.database)};"
        yield f"use {spec.target.database};"
    yield from (f"{sql};" for sql in spec.script.creation(engine))
    no_autocommit = ["SET AUTOCOMMIT=0;"] * bool(spec.commit)
    yield from no_autocommit
    yield from (f"{sql};" for sql in spec.script.before)
    for _ in range(clients):
        yield from no_autocommit
        yield from _client(spec, clients)
    yield from (f"{sql};" for sql in spec.script.after)


def _client(spec: SlapSpec, clients: int) -> Iterator[str]:
    program = client_program(spec.script, spec.rhythm(clients), ONLY_KEY)
    turns = program.turns
    if turns is None:
        return
    dealt = [turns.cycle[number % len(turns.cycle)] for number in range(turns.count)]
    for which in (*dealt, *turns.ending):
        (sql,) = program.transactions[which].steps[0].statements[0].sql
        yield f"{sql};"
