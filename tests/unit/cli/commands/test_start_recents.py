"""What was started last: newest first, never a password, for its user only."""

from pathlib import Path

import msgspec

from tuibench.cli.commands.start import choices
from tuibench.cli.commands.start.choices import MAX_RECENTS, RecentStart, save_recent
from tuibench.cli.commands.start.choices import load_recents as known


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
    file = tuibench_home / "state" / choices.RECENTS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any("pass" in name for name in RecentStart.__struct_fields__)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_not_understood_is_passed_over(tuibench_home: Path) -> None:
    save_recent(RecentStart(place="db1"))
    file = tuibench_home / "state" / choices.RECENTS_FILE
    file.write_bytes(msgspec.json.encode({"a": 1}))
    assert known() == ()
    save_recent(RecentStart(place="db2"))
    assert [each.place for each in known()] == ["db2"]
