"""Messages between owner and supervisor."""

import pytest

from tests.unit.demo.conftest import make_spec
from tuibench.demo import messages
from tuibench.demo.messages import (
    CreateServer,
    EndSupervisor,
    KillServer,
    RequestFailed,
    ServerRunning,
    ServerStopped,
    ShutDownServer,
    StartServer,
    SupervisorReply,
    SupervisorRequest,
)


@pytest.mark.parametrize(
    "sent",
    [CreateServer(make_spec()), StartServer(), ShutDownServer(), KillServer(), EndSupervisor(remove=True)],
)
def test_requests_round_trip(sent: SupervisorRequest) -> None:
    line = messages.encode_message(sent)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert messages.decode_request(line) == sent


@pytest.mark.parametrize(
    "sent", [ServerRunning(1, 2, "/d"), ServerStopped(), RequestFailed("two\nlines", "hint")]
)
def test_replies_round_trip(sent: SupervisorReply) -> None:
    assert messages.encode_message(sent).count(b"\n") == 1
    assert messages.decode_reply(messages.encode_message(sent)) == sent


def test_no_password_in_a_repr() -> None:
    assert make_spec().password not in repr(CreateServer(make_spec()))
