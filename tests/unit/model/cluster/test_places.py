"""What `--cluster` names."""

import pytest

from tuibench.errors import UsageError
from tuibench.model.cluster.places import expanded, parse_places


@pytest.mark.parametrize(
    ("given", "places"),
    [
        (["ssh:a,b"], ("ssh:a", "ssh:b")),
        (["ssh:ann@a:2222", "ssh:[::1]:22"], ("ssh:ann@a:2222", "ssh:[::1]:22")),
        (["ssh:load-{1..3}.example"], ("ssh:load-1.example", "ssh:load-2.example", "ssh:load-3.example")),
        (
            ["ssh:{east,west}-{08..10}"],
            tuple(f"ssh:{side}-{n}" for side in ("east", "west") for n in ("08", "09", "10")),
        ),
        (
            ["exec:kubectl exec -i load-{0..1} -- tuibench agent"],
            tuple(f"exec:kubectl exec -i load-{n} -- tuibench agent" for n in (0, 1)),
        ),
        (["exec:a --x={p,q}"], ("exec:a --x=p", "exec:a --x=q")),
    ],
)
def test_places(given: list[str], places: tuple[str, ...]) -> None:
    assert parse_places(given) == places


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("host1,host2", "has no ssh:, exec: or tls:"),
        ("ssh:-oProxyCommand=evil", "'-oProxyCommand=evil' is not a host for ssh"),
        ("ssh:a,,b", "'' is not a host for ssh"),
        ("ssh:a b", "is not a host for ssh"),
        ("ssh:a,a", "names a twice"),
        ("ssh:x{1..5000}", "more than 1000 hosts"),
        ("ssh:x{1..999},y{1..999}", "the maximum is 1000"),
        ("exec:", "needs a command"),
        ("exec:'open", "quote the command"),
    ],
)
def test_what_names_no_host_is_refused(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_places([given])


def test_ranges_count_down_and_keep_their_zeros() -> None:
    assert expanded("{3..1}") == ["3", "2", "1"]
    assert expanded("{01..03}") == ["01", "02", "03"]
    assert expanded("plain") == ["plain"]
