"""Several servers as one target: whose turn it is, and what is told of it."""

import msgspec

from tuibench.model.target import Endpoint, Target

SEVERAL = Target(
    host="db1",
    user="ann",
    password="secret",
    password_command="print secret",
    further=(Endpoint(host="db2", port=3307), Endpoint(socket="/run/db3.sock")),
)


def test_connections_take_turns() -> None:
    places = [SEVERAL.for_connection(number).where for number in range(7)]
    assert places[:3] == ["db1:3306", "db2:3307", "socket /run/db3.sock"]
    assert places[3:] == [*places[:3], places[0]]
    assert {SEVERAL.for_connection(number).password for number in range(3)} == {"secret"}


def test_one_server_is_everybodys() -> None:
    one = Target(host="db")
    assert one.for_connection(5) is one


def test_texts_count_further_servers_and_contain_no_secrets() -> None:
    assert SEVERAL.where == "db1:3306 and 2 more"
    assert "secret" not in repr(SEVERAL)
    assert b"secret" not in msgspec.json.encode(SEVERAL.without_password())
