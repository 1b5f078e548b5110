"""Files of query logs: compression, encodings, standard input, what cannot be read."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.workload.test_query_log import entry
from tuibench.base.errors import UsageError
from tuibench.cli.log_files import read_logs
from tuibench.workload.query_log import QueryLog

TEXT = entry("SELECT 'é'") + entry("SELECT 2")


def read(*names: object) -> list[str]:
    return [
        each.sql for each in read_logs([str(name) for name in names], QueryLog(), lambda read, size: None)
    ]


@pytest.mark.parametrize(
    "encode",
    [
        bytes,
        gzip.compress,
        lambda text: gzip.compress(text[:100]) + gzip.compress(text[100:]),
        bz2.compress,
        lzma.compress,
        lambda text: text.decode().encode("utf-16"),
        lambda text: text.decode().encode("utf-16-le"),
        lambda text: text.decode().encode("utf-16-be"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: gzip.compress(text.decode().encode("utf-16")),
        lambda text: text.replace(b"\n", b"\r\n"),
    ],
)
def test_encodings(tmp_path: Path, encode: Callable[[bytes], bytes]) -> None:
    (tmp_path / "log").write_bytes(encode(TEXT.encode()))
    assert read(tmp_path / "log") == ["SELECT 'é'", "SELECT 2"]


def test_bytes_of_binary_texts_are_kept(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(
        entry("SELECT a FROM t WHERE b = _binary'\x00'").encode().replace(b"\0", b"\xff\xfe")
    )
    (sql,) = read(tmp_path / "log")
    assert sql.encode("utf-8", "surrogateescape").endswith(b"\xff\xfe'")


def test_several_files_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_text(entry("SELECT 1"))
    (tmp_path / "log").write_text(entry("SELECT 2"))
    assert read(tmp_path / "log.1", tmp_path / "log") == ["SELECT 1", "SELECT 2"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT.encode())))
    monkeypatch.setattr("sys.stdin", stdin)
    assert read("-") == ["SELECT 'é'", "SELECT 2"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(TEXT.encode(), mtime=0)[:-20], "cannot read"),
        (gzip.compress(TEXT.encode(), mtime=0)[:30] + bytes(50), "cannot read"),
        (lzma.compress(TEXT.encode())[:-20], "cannot read"),
        (b"\x28\xb5\x2f\xfd0", "zstd -dc"),
        (b"\xfebin0000", "binary log"),
        (b"PK\x03\x04", "zip"),
        (b"", "no statements"),
        (bytes(3000), "no statements"),
        (b"hello\n", "no statements"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(UsageError) as raised:
        read(tmp_path / "log")
    assert words in f"{raised.value} {raised.value.hint}"


@given(
    st.sampled_from([b"", *(TEXT.encode(each) for each in ("utf-8", "utf-16"))]),
    st.binary(),
    st.integers(0, 500),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes(tmp_path: Path, text: bytes, damage: bytes, place: int) -> None:
    for data in (text[:place] + damage + text[place:], gzip.compress(text) + damage):
        (tmp_path / "log").write_bytes(data)
        with suppress(UsageError):
            read(tmp_path / "log")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / "none")
