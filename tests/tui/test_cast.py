"""A recorded run as a cast: its header, its times, and that the pictures are those of the screens."""

import json
from io import StringIO
from pathlib import Path

import pytest

from tests.tui.support import script
from tuibench.base.errors import UsageError
from tuibench.cli.records import parse_size
from tuibench.tui import picture
from tuibench.tui.picture import save_picture
from tuibench.tui.styled_app import DEFAULT_DISPLAY
from tuibench.tui.viewer import LAST_PICTURE_SECONDS, CastWriter, write_cast

SIZE = (100, 30)


async def test_a_cast_has_a_picture_for_each_sample_at_the_time_of_the_replay() -> None:
    file = StringIO()
    told = [(sample.elapsed_seconds, sample) for sample in script.samples(8)[-4:]]
    await write_cast(file, script.hello(4, events=()), told, DEFAULT_DISPLAY, SIZE, speed=2.0)
    header, *frames = map(json.loads, file.getvalue().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, *SIZE)
    assert header["title"] == "tuibench oltp_read_write"
    assert [at for at, _, _ in frames] == [0.0, 0.5, 1.0, 1.5, 1.5 + LAST_PICTURE_SECONDS]
    first, second = frames[0][2], frames[1][2]
    assert "\x1b[2J" in first
    assert "DURABILITY" in first
    assert "\x1b[2J" not in second
    assert len(second) < len(first)
    assert "38;2;" in first


def test_only_rows_that_changed_are_written() -> None:
    file = StringIO()
    writer = CastWriter(file, (80, 24), 0.0, "t")
    writer.frame(0.0, ["a", "b"])
    writer.frame(1.0, ["a", "b"])
    writer.frame(2.0, ["a", "c"])
    assert [json.loads(line)[2] for line in file.getvalue().splitlines()[2:]] == ["\x1b[2;1Hc"]


@pytest.mark.parametrize("text", ["120", "120x", "axb", "10x10", "600x40", "-1x30"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--size"):
        parse_size(text)


def test_a_size_is_columns_and_rows() -> None:
    assert parse_size("120x36") == (120, 36)


def test_pictures_replace_no_file_and_an_unwritable_folder_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "CONVERTERS", ())
    first, second = (save_picture("<svg/>", tmp_path, "live")[0] for _ in range(2))
    assert (first.name, second.name) == ("live.svg", "live-2.svg")
    with pytest.raises(Exception, match="cannot write"):
        save_picture("<svg/>", tmp_path / "missing", "live")


def test_a_converter_makes_the_png_and_one_that_fails_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "CONVERTERS", (("cp", "{svg}", "{png}"),))
    assert [path.suffix for path in save_picture("<svg/>", tmp_path, "good")] == [".svg", ".png"]
    monkeypatch.setattr(picture, "CONVERTERS", (("false", "{svg}", "{png}"),))
    assert [path.suffix for path in save_picture("<svg/>", tmp_path, "bad")] == [".svg"]
