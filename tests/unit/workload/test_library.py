"""Where profiles are found."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tuibench.errors import UsageError
from tuibench.workload import library

BUILT_IN = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only"]


def test_all_built_in_profiles_are_valid_and_called_as_their_file() -> None:
    assert set(BUILT_IN) <= set(library.available_profiles())
    for name, path in library.available_profiles().items():
        assert library.load_profile(name).name == path.stem


def test_sysbenchs_suffix_is_tolerated() -> None:
    assert library.find_profile("oltp_read_write.lua") == library.find_profile("oltp_read_write")


def test_an_unknown_profile_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError) as error:
        library.load_profile("oltp_read_wirte")
    assert error.value.message == "there is no profile 'oltp_read_wirte'"
    assert error.value.hint == "did you mean 'oltp_read_write'?"


def own(folder: Path, summary: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = library.find_profile("oltp_read_only").read_text().replace("sysbench's", summary, 1)
    path = folder / "oltp_read_only.toml"
    path.write_text(text)
    return path


def test_a_user_profile_precedes_the_built_in_one(tuibench_home: Path) -> None:
    own(tuibench_home / "config" / "profiles", "my own")
    assert library.load_profile("oltp_read_only").summary.startswith("my own")


def test_a_profile_may_be_given_by_path(tmp_path: Path) -> None:
    assert library.load_profile(str(own(tmp_path, "by path"))).summary.startswith("by path")


@pytest.mark.parametrize("name", ["/nowhere/x.toml", "nowhere.toml", "some/dir", f"/{'9' * 5000}"])
def test_a_missing_file_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="there is no profile file"):
        library.load_profile(name)


def test_a_file_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot read the profile"):
        library.load_profile(str(path))


def test_a_folder_of_profiles_that_may_not_be_looked_at_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.stat

    def refuse(path: Any, *rest: Any, **words: Any) -> os.stat_result:
        if str(path) == str(library.user_profiles_dir()):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return status(path, *rest, **words)

    monkeypatch.setattr(os, "stat", refuse)
    assert set(BUILT_IN) <= set(library.available_profiles())
