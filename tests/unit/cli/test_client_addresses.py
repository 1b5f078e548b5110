"""tuibench connects to the server that the user's own client connects to, or tells what it does not take."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bench.client_answers import RECORD, cases_with_answers, write_files
from tuibench.base.errors import UsageError
from tuibench.cli import server_address
from tuibench.cli.server_options import ServerOptions
from tuibench.model.server import Target
from tuibench.mysql import option_files

DEFAULT_SOCKET = "/run/mysqld/mysqld.sock"
CLIENTS = ("mariadb", "mysql")
CASES = [json.loads(line.rstrip(",")) for line in RECORD.read_text().splitlines()[1:-1]]
"""Random option files, environments and command lines, with the answers of MariaDB 10.11 and MySQL 9.7."""


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with one default socket, whose system has no option files."""
    monkeypatch.setattr(server_address, "local_sockets", lambda more: [DEFAULT_SOCKET])
    monkeypatch.setattr(option_files, "GLOBAL_FILES", ())
    monkeypatch.setattr("tuibench.cli.server_options.system_user", lambda: "")


def chosen(case: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Target, list[str]]:
    """The target of a case, and what is told."""
    words, environment = write_files(case, folder)
    told: list[str] = []
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        given: dict[str, Any] = {
            name.lstrip("-").replace("-", "_"): value
            for name, _, value in (each.partition("=") for each in (*words, *case["args"]))
        }
        return ServerOptions(**given).target(tell=told.append), told


def answer(target: Target) -> dict[str, str]:
    """As in the record."""
    where = target.socket or f"{target.host}:{target.port}"
    return {"where": where, "user": target.user}


def compare(cases: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cases in which neither client connects to the same server as the same user, and nothing is told."""
    wrong: list[Any] = []
    for place, case in enumerate(cases):
        (folder / str(place)).mkdir()
        try:
            target, told = chosen(case, folder / str(place), monkeypatch)
        except UsageError as error:
            if "protocol is socket" not in error.message:
                wrong.append((case, str(error)))
            continue
        agreeing = [
            name for name in CLIENTS if answer(target) == {key: case[name][key] for key in answer(target)}
        ]
        if not agreeing and not told:
            wrong.append((case, answer(target)))
        mode = case["mysql"]["ssl_mode"].lower().replace("_", "-")
        if (
            mode
            and agreeing == list(CLIENTS)
            and not re.search(r"\bssl\s*=", "\n".join(map(str, case.values())))
            and target.ssl_mode != mode
        ):
            wrong.append((case, target.ssl_mode))
    return wrong


@pytest.mark.parametrize("start", range(0, len(CASES), 100))
def test_the_same_server_as_the_users_own_client(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare(CASES[start : start + 100], tmp_path, monkeypatch) == []


INSTALLED = {
    name: os.environ.get(f"TUIBENCH_TEST_{name.upper()}_CLIENT") or shutil.which(name) or ""
    for name in CLIENTS
}


@pytest.mark.whole
@pytest.mark.skipif(
    not all((*INSTALLED.values(), shutil.which("gcc"))) or os.path.samefile(*INSTALLED.values()),
    reason="needs both clients, and gcc",
)
def test_the_same_server_as_the_clients_that_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare(cases_with_answers(INSTALLED, 100, seed=os.getpid()), tmp_path, monkeypatch) == []
