"""The command `start`."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from tests.tables import for_each
from tuibench.base.errors import RunError, ServerUnavailableError
from tuibench.features.start import setup
from tuibench.features.start import setup as backstage
from tuibench.features.start.screen import FormValues
from tuibench.features.start.setup import (
    MAX_RECENTS,
    CliStartController,
    RecentStart,
    run_in_thread_loop,
    save_recent,
)
from tuibench.features.start.setup import load_recents as known
from tuibench.model.plan import PLAN_COMMANDS
from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary

# Behind the start form: what is offered, what is wrong with a form, and which server it means.


BINARY = Binary(path="/usr/sbin/mariadbd", flavour=Flavour.MARIADB, version="10.11.19")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tuibench_home: Path) -> Path:
    """One option file, no socket of this host, and a server program."""
    path = tmp_path / "my.cnf"
    path.write_text(
        "[client]\nhost = db1\nuser = app\npassword = s3cret\n"
        "[mysqld]\nuser = mysql\n"
        "[client_eu]\nhost = eu\nport = 3307\ndatabase = shop\n"
    )
    monkeypatch.setattr("tuibench.mysql.option_files.default_files", lambda: (str(path),))
    monkeypatch.setattr("tuibench.cli.server_address.DEFAULT_SOCKETS", ())
    monkeypatch.setattr("tuibench.features.start.setup.find_server_binary", lambda: BINARY)
    return path


@pytest.fixture
def behind(files: Path) -> CliStartController:
    return CliStartController()


def answers(behind: CliStartController, **changes: str) -> FormValues:
    return msgspec.structs.replace(behind.first, **changes)


def test_servers_are_offered_the_private_one_first(files: Path) -> None:
    setup.save_recent(
        RecentStart(place="db2:3307", user="bench", database="sbtest", profile="oltp_read_only")
    )
    setup.save_recent(RecentStart(place="db1", user="app"))
    offers = CliStartController().servers
    assert [(offer.id, offer.label) for offer in offers] == [
        ("private", "Private demo server"),
        ("files:", "app@db1"),
        ("files:_eu", "app@eu:3307"),
        ("recent:bench@db2:3307", "bench@db2:3307"),
        ("other", "Another server …"),
    ]
    assert offers[0].detail.startswith("MariaDB 10.11.19")
    assert offers[3].detail == "used 0s ago"


def test_an_option_file_that_cannot_be_read_is_no_traceback(files: Path) -> None:
    files.write_text("[client]\nport = many\n")
    assert "'many' is no value for 'port'" in CliStartController().servers[1].detail


def test_profiles_are_offered_with_options_for_their_data(files: Path) -> None:
    offers = {offer.name: offer for offer in CliStartController().profiles}
    assert next(iter(offers)) == "oltp_read_write"
    assert offers["oltp_read_write"].options == "--tables=4 --table-size=100000"
    assert offers["oltp_read_only"].summary == "14 reads between BEGIN and COMMIT"


def test_the_form_is_as_it_was_left(files: Path) -> None:
    assert CliStartController().first.server == "private"
    setup.save_recent(
        RecentStart(
            place="db1",
            user="app",
            database="sbtest",
            profile="oltp_read_only",
            threads="64",
            options="--tables=9",
        )
    )
    first = CliStartController().first
    assert (first.server, first.place, first.profile, first.threads, first.options) == (
        "files:",
        "db1",
        "oltp_read_only",
        "64",
        "--tables=9",
    )


def test_the_form_takes_every_option_of_a_load(files: Path) -> None:
    behind = CliStartController()
    for key, (part, bound) in PLAN_COMMANDS["live"].options.items():
        assert (f"{bound.name}=" in behind.option_names) == (key not in ("threads", "time")), part
    plan = setup.form_plan(answers(behind, options="--tables=4 --reconnect=10", threads="3", seconds="1m"))
    assert (plan.reconnect, plan.options, plan.threads, plan.seconds) == (10, {"tables": "4"}, 3, 60)


@for_each(
    ("changes", "fault"),
    [
        ({}, {}),
        ({"threads": "many"}, {"threads": "'many' is not a whole number"}),
        ({"threads": "0"}, {"threads": "must be between 1 and 100,000, not 0"}),
        (
            {"seconds": "5 minutes"},
            {"seconds": "'5 minutes' is not a duration (a number with its unit"},
        ),
        ({"seconds": "90"}, {}),
        ({"seconds": "1m30s"}, {}),
        ({"database": " "}, {"database": "a name is needed"}),
        ({"options": "--tabels=4"}, {"options": "unknown option --tabels (did you mean '--tables'?)"}),
        ({"options": "--table-size='4"}, {"options": "cannot be read: no closing quotation"}),
        ({"options": "tables=4"}, {"options": "'tables=4' is not an option"}),
        ({"options": "--tables=4 --reconnect=10"}, {}),
        ({"options": "--reconnect=-1"}, {"options": "--reconnect must be between 0 and"}),
        ({"options": "--threads=4"}, {"options": "leave out --threads: it has a field of its own"}),
        ({"server": "other", "place": ""}, {"place": "a host, host:port, or the path of a socket"}),
        ({"server": "other", "place": "db1:port"}, {"place": "the server takes HOST"}),
        ({"server": "other", "place": "/no/such.sock"}, {}),
    ],
)
def test_a_field_that_is_wrong_says_what(
    behind: CliStartController, changes: dict[str, str], fault: dict[str, str]
) -> None:
    found = behind.faults(answers(behind, **changes))
    assert found.keys() == fault.keys()
    assert all(found[name].startswith(words) for name, words in fault.items()), found


def test_without_a_server_program_there_is_no_private_server(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = ServerUnavailableError("no server program found", "install one")
    monkeypatch.setattr("tuibench.features.start.setup.find_server_binary", lambda: refusal)
    behind = CliStartController()
    assert behind.servers[0].detail == "no server program found (install one)"
    assert behind.faults(behind.first) == {"place": "no server program found (install one)"}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("db9", ("db9", 3306, "")),
        ("db9:3307", ("db9", 3307, "")),
        ("[::1]:3307", ("::1", 3307, "")),
        ("::1", ("::1", 3306, "")),
        ("/tmp/s.sock", ("db1", 3306, "/tmp/s.sock")),
    ],
)
def test_a_place_is_a_host_with_or_without_a_port_or_a_socket(
    files: Path, place: str, expected: tuple[str, int, str]
) -> None:
    behind = CliStartController()
    target = setup.form_target(answers(behind, server="other", place=place, user="me", password="p"))
    assert (target.host, target.port, target.socket) == expected
    assert (target.user, target.password, target.database) == ("me", "p", "sbtest")


def test_the_password_of_an_option_file_is_used_and_remembered_nowhere(
    files: Path, tuibench_home: Path
) -> None:
    behind = CliStartController()
    given = answers(behind, server="files:", place="db1", user="app")
    assert setup.form_target(given).password == "s3cret"
    setup.save_recent(backstage._to_recent(given))
    assert b"s3cret" not in (tuibench_home / "state" / setup.RECENTS_FILE).read_bytes()


# Work beside the screen: its result, its errors, and its undoing when it is cancelled.


async def test_it_runs_in_a_thread_of_its_own() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert await run_in_thread_loop(work()) == "work beside the screen"


async def test_an_error_is_raised_as_itself() -> None:
    async def work() -> None:
        raise RunError("no")

    with pytest.raises(RunError, match="no"):
        await run_in_thread_loop(work())


async def test_cancelled_it_waits_for_the_undoing() -> None:
    begun, steps = asyncio.Event(), []
    here = asyncio.get_running_loop()

    async def work() -> None:
        try:
            here.call_soon_threadsafe(begun.set)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            steps.append("undone")

    task = asyncio.create_task(run_in_thread_loop(work()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["undone"]


# What was started last: newest first, never a password, for its user only.


def test_the_newest_of_each_server_is_kept_first(tuibench_home: Path) -> None:
    assert known() == ()
    save_recent(RecentStart(place="db1", user="app", threads="8"), now=1.0)
    save_recent(RecentStart(place="db2", user="app"), now=2.0)
    save_recent(RecentStart(place="db1", user="app", threads="64"), now=3.0)
    assert [(each.place, each.threads, each.at) for each in known()] == [("db1", "64", 3.0), ("db2", "", 2.0)]
    for number in range(20):
        save_recent(RecentStart(place=f"host{number}"))
    assert len(known()) == MAX_RECENTS


def test_the_file_is_its_users_only_and_has_no_place_for_a_password(tuibench_home: Path) -> None:
    save_recent(RecentStart(place="db1", user="app"))
    file = tuibench_home / "state" / setup.RECENTS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any("pass" in name for name in RecentStart.__struct_fields__)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_not_understood_is_passed_over(tuibench_home: Path) -> None:
    save_recent(RecentStart(place="db1"))
    file = tuibench_home / "state" / setup.RECENTS_FILE
    file.write_bytes(msgspec.json.encode({"a": 1}))
    assert known() == ()
    save_recent(RecentStart(place="db2"))
    assert [each.place for each in known()] == ["db2"]
