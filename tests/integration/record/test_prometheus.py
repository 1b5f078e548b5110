"""`--prometheus` on a real run: scraped while it works, counted as the summary counts."""

import contextlib
import http.client
import json
import re
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.integration.support.commands import (
    DEADLINE_SECONDS,
    Running,
    finished,
    none_left,
    started,
    tuibench,
)
from tests.integration.support.processes import until
from tuibench.servers.server import PrivateServer

RUN = (
    "oltp_read_write", "--tables=2", "--table-size=500", "--threads=2", "--interval=0.25", "--time=0",
    "--client-delay=2ms",
)  # fmt: skip
COUNTED = ("tuibench_transactions_total", "tuibench_queries_total", "tuibench_server_questions_total")


def scraped(url: str) -> dict[str, float]:
    """The counters that matter here, added up over their labels; empty as long as the load does not run."""
    place = urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(place.netloc, timeout=DEADLINE_SECONDS)) as connection:
        connection.request("GET", place.path)
        answer = connection.getresponse()
        text = answer.read().decode()
    if answer.status == 503:
        return {}
    assert answer.status == 200
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {name: sum(one.value for one in samples if one.name == name) for name in COUNTED}


def address_told(process: Running) -> str:
    found = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", process.stderr.readline())
    assert found
    return found[1]


def test_a_run_is_scraped_while_it_works(any_tables: PrivateServer, tmp_path: Path) -> None:
    result = tmp_path / "summary.json"
    with started("run", *RUN, "--prometheus=:0", f"--json={result}", target=any_tables.target) as process:
        url = address_told(process)
        seen: list[dict[str, float]] = []

        def has_grown() -> bool:
            if now := scraped(url):
                seen.append(now)
            return len({one["tuibench_transactions_total"] for one in seen}) > 2

        assert until(has_grown)
        process.send_signal(signal.SIGINT)
        assert finished(process).code == 130
    for name in COUNTED:
        series = [one[name] for one in seen]
        assert series == sorted(series)
    summary = json.loads(result.read_text())
    assert 0 < seen[-1]["tuibench_transactions_total"] <= summary["transactions"]["total"]
    assert seen[-1]["tuibench_queries_total"] <= summary["queries"]["total"]


def test_where_the_port_is_taken_nothing_is_started(any_tables: PrivateServer, tuibench_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = tuibench("live", *RUN, "--detach", f"--prometheus={place}", target=any_tables.target)
    assert (ended.code, ended.out) == (1, "")
    assert f"cannot serve metrics at {place}: Address already in use" in ended.err
    assert none_left(tuibench_home)
    assert not list((tuibench_home / "data").glob("runs/*"))


def test_a_session_in_the_background_says_where_its_metrics_are(any_tables: PrivateServer) -> None:
    begun = tuibench("run", *RUN, "--detach", "--prometheus=:0", target=any_tables.target)
    assert begun.code == 0, begun.err
    try:
        (listed,) = json.loads(tuibench("sessions", "--format=json").out)
        assert f"metrics at {listed['metrics']}\n" in begun.err
        assert until(lambda: bool(scraped(listed["metrics"]).get("tuibench_transactions_total")))
    finally:
        assert tuibench("ctl", "stop", "--wait").code == 0
