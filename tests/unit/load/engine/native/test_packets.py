"""The native engine sends what the Python engine sends: packet by packet, over every built-in profile."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from asyncmy import converters

from tests.tables import for_each
from tests.unit.workload.datasets.test_tpcc import shop
from tuibench.load.engine.native import program as native_program
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.protocol.packets import ExecuteCommand, text_packet
from tuibench.workload import library
from tuibench.workload.generate.generator import Generator
from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.program.program import Program
from tuibench.workload.program.sql_text import split_at_placeholders

native = native_program.module()
pytestmark = pytest.mark.skipif(native is None, reason="tuibench-native is not installed")

SMALL = {"tables": 4, "table_size": 1_000, "threads": 3}
TRANSACTIONS = 60
PROFILES = sorted(library.available_profiles())
Rows = Sequence[Sequence[Any]]
FURTHER: dict[str, Any] = {
    "savings_for_update": [(Decimal("18.00"),)],
    "checking_for_update": [(Decimal("7.50"),)],
    "find_subscriber": [(7,)],
    "find_facility": [(2,)],
    "find_facilities": [(1,), (3,)],
}
"""Answers to the statements of SmallBank and TATP that capture."""


def program(name: str, **options: object) -> Program:
    known = set(library.load_profile(name).options)
    return library.load_program(
        name, {**{key: value for key, value in SMALL.items() if key in known}, **options}
    )


class Reference:
    """The Python engine's packets, with the numbers of prepared statements made up."""

    def __init__(self, program: Program, connection: int, *, prepared: bool) -> None:
        layout = ProgramLayout(program)
        self.flat = layout.statements
        self.generator = Generator(program, 7, connection, layout)
        self.identities = [
            index + 1 if flat.prepared and prepared else 0 for index, flat in enumerate(self.flat)
        ]

    def packet(self, index: int, values: tuple[Any, ...]) -> bytes:
        sql, identity = self.flat[index].sql, self.identities[index]
        parts = split_at_placeholders(sql)
        if identity:
            return ExecuteCommand(identity, len(parts) - 1, ENCODING).packet(values)
        whole = parts[0] + "".join(
            quoted(value) + part for value, part in zip(values, parts[1:], strict=True)
        )
        return text_packet(whole, ENCODING)


def quoted(value: Any) -> str:
    if type(value) is int:
        return str(value)
    return (
        f"'{converters.escape_string(value)}'"
        if isinstance(value, str)
        else str(converters.escape_item(value, "utf8mb4"))
    )


def pair(made: Program, connection: int, *, prepared: bool) -> tuple[Reference, Any]:
    """A connection in both engines; the native one shares its code with connection 1 where it can."""
    ours = Reference(made, connection, prepared=prepared)
    compiled = native_program.compiled(made, ProgramLayout(made))
    common = (native_program.stream_key, ours.identities, False)
    first = native.Stream(compiled, "7", 1, *common)
    return ours, native.Stream(compiled, "7", connection, *common, like=first)


def at_once(ours: Reference, which: int) -> list[tuple[int, bytes]]:
    return [(index, ours.packet(index, values)) for index, values in ours.generator.calls[which]()]


def answered(ours: Reference, theirs: Any, which: int, answer: Any) -> Iterator[tuple[Any, Any]]:
    """Both engines' calls of an interactive transaction, on the same answers."""
    talk, rows = ours.generator.start_interactive(which), None
    theirs.begin(which)
    while True:
        try:
            index, values = talk.send(rows)
        except StopIteration:
            yield None, theirs.next(which, rows)
            return
        yield (index, ours.packet(index, values)), theirs.next(which, rows)
        flat = ours.flat[index]
        rows = [list(row) for row in answer(flat.name, values)] if flat.captures else None


@for_each("prepared", [True, False])
@for_each("name", PROFILES)
def test_the_same_seed_gives_the_same_packets(name: str, prepared: bool) -> None:
    made = program(name)
    for connection in (0, 1, 7):
        ours, theirs = pair(made, connection, prepared=prepared)
        for _ in range(TRANSACTIONS):
            which = ours.generator.draw()
            assert theirs.draw() == which
            if not made.transactions[which].interactive:
                assert theirs.calls(which) == at_once(ours, which)
                continue
            for our_call, their_call in answered(ours, theirs, which, shop(**FURTHER)):
                assert our_call == their_call


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "special", "pareto", "zipfian"])
def test_the_same_keys_are_drawn_from_every_distribution(kind: str) -> None:
    ours, theirs = pair(program("oltp_read_write", rand_type=kind), 2, prepared=True)
    for _ in range(TRANSACTIONS):
        assert theirs.calls(0) == at_once(ours, 0)


def test_tpcc_with_many_warehouses_and_remote_orders_is_the_same() -> None:
    made = program("tpcc", warehouses=3, any_warehouse=True)
    ours, theirs = pair(made, 4, prepared=True)
    answers = Random(3)
    for _ in range(400):
        which = ours.generator.draw()
        assert theirs.draw() == which
        missing = answers.random() < 0.1
        answer = shop(**({"customers_by_name": [], "deliver_oldest": []} if missing else {}))
        for our_call, their_call in answered(ours, theirs, which, answer):
            assert our_call == their_call


def test_new_weights_change_both_alike() -> None:
    made = program("tpcc")
    ours, theirs = pair(made, 0, prepared=True)
    weights = [1.0, 2.0, 0.0, 3.0, 4.0]
    ours.generator.set_weights(weights)
    theirs.set_weights(weights)
    drawn = [ours.generator.draw() for _ in range(100)]
    assert [theirs.draw() for _ in range(100)] == drawn


def test_pauses_are_the_same() -> None:
    made = program("tpcc", think_time=True)
    ours, theirs = pair(made, 5, prepared=True)
    pauses = ours.generator.pauses
    for last, following in [(0, 1), (1, 2), (4, 0)] * 10:
        assert theirs.pause(last, following) == pauses.after(last) + pauses.before(following)
