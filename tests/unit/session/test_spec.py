"""What crosses to the session's process, and what of it may be seen."""

import msgspec
import pytest

from tests.examples import PLAN
from tuibench.model.target import Target
from tuibench.session.spec import Launched, ServiceSpec, SessionSpec

SPEC = ServiceSpec(
    session=SessionSpec(
        session="s1",
        plan=msgspec.structs.replace(PLAN, options={"tables": 4, "skip_trx": True}, seconds=None),
        target=Target(host="db", user="ann", password="secret"),
        run_directory="/runs/s1",
        inherit_fds=(7, 9),
        private_server="/var/tmp/tuibench-demo-1",
    ),
    socket="/run/s1.sock",
    grace_seconds=None,
)


@pytest.mark.parametrize(
    "message", [SPEC, Launched(socket="/s"), Launched(message="no", hint="h", exit_code=3)]
)
def test_it_arrives_as_one_line(message: msgspec.Struct) -> None:
    line = msgspec.json.encode(message)
    assert b"\n" not in line
    assert msgspec.json.decode(line, type=type(message)) == message


def test_the_password_arrives_and_is_not_shown() -> None:
    assert (
        msgspec.json.decode(msgspec.json.encode(SPEC), type=ServiceSpec).session.target.password == "secret"
    )
    assert "secret" not in repr(SPEC)
