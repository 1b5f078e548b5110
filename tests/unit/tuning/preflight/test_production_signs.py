"""What makes a server look as if somebody lived on it."""

from typing import Any

import pytest

from tests.unit.tuning.preflight.examples import client, facts
from tuibench.tuning.preflight.checks import production_signs

WRITTEN = {"writes": {"Com_insert": 1}, "writes_later": {"Com_insert": 41}, "watched_seconds": 0.4}
LOAD = client(database="sbtest", statement="UPDATE sbtest3 SET k=k+1 WHERE id=5")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({}, ()),
        ({"registered_replicas": 2}, ("2 replicas attached",)),
        ({"clients": (client(), client())}, ("2 active connections of other users (shop)",)),
        ({"clients": (client(command="Sleep"),)}, ()),
        (WRITTEN, ("other clients changed data 40 times in 0.4 s",)),
        ({**WRITTEN, "clients": (LOAD,)}, ()),
        ({"clients": (LOAD, client(database="sbtest", statement="COMMIT"))}, ()),
        (
            {"clients": (client(database="sbtest", statement="DELETE FROM orders"),)},
            ("1 active connection of other users (shop)",),
        ),
        (
            {**WRITTEN, "clients": (client(), client(command="Binlog Dump GTID"))},
            (
                "1 replica attached",
                "1 active connection of other users (shop)",
                "other clients changed data 40 times in 0.4 s",
            ),
        ),
    ],
)
def test_signs(server: dict[str, Any], expected: tuple[str, ...]) -> None:
    found = facts(server=server)
    assert production_signs(found.server, found.requirements.stems) == expected
