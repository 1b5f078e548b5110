"""The value of --host-metrics."""

import pytest

from tuibench.errors import UsageError
from tuibench.observe.host.remote.source import HostAddress, parse_host_metrics


@pytest.mark.parametrize(
    ("text", "user", "host", "port"),
    [
        ("ssh:ann@db1", "ann", "db1", None),
        ("ssh:db1", "", "db1", None),
        ("ssh://ann@db1:2222", "ann", "db1", 2222),
        ("ssh:ann@[::1]:2222", "ann", "::1", 2222),
        ("ssh:ann@10.0.0.9", "ann", "10.0.0.9", None),
    ],
)
def test_ssh(text: str, user: str, host: str, port: int | None) -> None:
    assert parse_host_metrics(text) == HostAddress(text, user=user, host=host, port=port)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://db1:9100/metrics", "http://db1:9100/metrics"),
        ("http://db1:9100", "http://db1:9100/metrics"),
        ("https://db1/", "https://db1/metrics"),
        ("http://db1/node/metrics?collect[]=cpu", "http://db1/node/metrics?collect[]=cpu"),
    ],
)
def test_a_node_exporter(text: str, url: str) -> None:
    assert parse_host_metrics(text).url == url


@pytest.mark.parametrize(
    "text",
    ["db1", "ssh:", "ssh:-oProxyCommand=x", "ssh:a@-b", "ssh:a b@c", "ssh:db1:0", "ssh:db1:70000", "ftp://db1",
     "http://", "http://db1:port/"],
)  # fmt: skip
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--host-metrics"):
        parse_host_metrics(text)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as refused:
        parse_host_metrics("http://ann:secret@db1:9100/metrics")
    assert "secret" not in str(refused.value)
