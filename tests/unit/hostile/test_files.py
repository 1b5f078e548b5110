"""Files of others, broken in every way: each is read, or refused with an error that is meant for a user."""

import gzip
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.hostile.mutations import broken, odd_line_of, with_odd_values
from tuibench.base.errors import TuibenchError, UsageError
from tuibench.mysql.option_files import OptionFiles, read_options
from tuibench.record.reader import Run, load_run
from tuibench.record.store import describe_run
from tuibench.report.run_report import html_report, run_markdown
from tuibench.report.text import csv_text, final_report, sysbench_text
from tuibench.tuning import journal
from tuibench.tuning.restore import leftover_warnings, leftovers
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.generator import TransactionGenerator

DATA = Path(__file__).parents[2] / "data"
PROFILES = Path(__file__).parents[3] / "profiles"

OPTION_FILE = b"""\
# comment
[client]
user = root
password="a#b\\s'c"
port=3306
socket = /run/x.sock
ssl-mode=REQUIRED
[tuibench]
host = db1
connect-timeout=5
"""
JOURNAL = b"".join(
    json.dumps(line).encode() + b"\n"
    for line in (
        {"type": "journal", "format": 1, "session": "s", "pid": 1, "started": 1.0,
         "target": {"host": "h", "port": 1}, "identity": "i", "flavour": "MariaDB"},
        {"type": "change", "seq": 1, "at": 1.0, "setting": "sync_binlog", "old": "1", "new": "0"},
        {"type": "applied", "seq": 1},
        {"type": "change", "seq": 2, "at": 1.0, "setting": "sync_binlog", "old": "0", "new": "5"},
        {"type": "handed", "seqs": [2], "successor": "t", "at": 2.0},
        {"type": "settled", "seqs": [2], "how": "restored", "at": 3.0, "why": ""},
    )
)  # fmt: skip
RUN_FILES = tuple(sorted(path.name for path in (DATA / "recorded-run").iterdir()))


@pytest.fixture(scope="module")
def folder() -> Path:
    """One for all examples of a property."""
    return Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))


@pytest.fixture(scope="module", autouse=True)
def _tidy(folder: Path) -> Iterator[None]:
    yield
    shutil.rmtree(folder)


def refusal(work: Callable[[], object], kind: type[TuibenchError] = TuibenchError) -> str | None:
    """What the user is told; None if the work is done. Any other exception fails the test."""
    try:
        work()
    except kind as error:
        return str(error)
    return None


@given(broken(OPTION_FILE))
def test_option_files(folder: Path, data: bytes) -> None:
    file = folder / "my.cnf"
    file.write_bytes(data)
    told = refusal(lambda: read_options(OptionFiles(str(file), suffix="_x")), UsageError)
    assert told is None or str(folder) in told


@pytest.mark.parametrize("name", ["oltp_read_write", "tpcc"])
def test_profiles(folder: Path, name: str) -> None:
    file = folder / f"{name}.toml"

    @given(broken((PROFILES / file.name).read_bytes()))
    def check(data: bytes) -> None:
        file.write_bytes(data)
        told = refusal(
            lambda: TransactionGenerator(compile_profile(library.load_profile(str(file)), {}), 0, 0),
            UsageError,
        )
        assert told is None or told

    check()


@given(broken(JOURNAL) | odd_line_of(JOURNAL))
def test_journals(folder: Path, data: bytes) -> None:
    place = folder / "journal"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "s.jsonl").write_bytes(data)
    assert all(leftover.text for leftover in leftovers(place))
    assert all(leftover_warnings(place))
    told = refusal(lambda: journal.decode_journal(data, "s"), journal.JournalError)
    assert told is None or told


@pytest.mark.whole
@pytest.mark.parametrize("name", RUN_FILES)
def test_run_folders(folder: Path, name: str) -> None:
    good = (DATA / "recorded-run" / name).read_bytes()
    place = folder / f"run-{name}"
    shutil.copytree(DATA / "recorded-run", place)

    @given(broken(good) | _odd(name, good), st.sampled_from(FORMS))
    def check(data: bytes, form: Form) -> None:
        (place / name).write_bytes(data)
        assert describe_run(place).id
        told = refusal(lambda: "".join(form(load_run(place))))
        assert told is None or told

    check()


Form = Callable[[Run], Iterable[str]]
FORMS: tuple[Form, ...] = (sysbench_text, csv_text, run_markdown, html_report, final_report)
"""What is made of a run."""


def _odd(name: str, good: bytes) -> st.SearchStrategy[bytes]:
    if name.endswith(".jsonl"):
        return odd_line_of(good)
    if name.endswith(".gz"):
        lines = gzip.decompress(good)
        return (odd_line_of(lines) | broken(lines)).map(gzip.compress)
    return with_odd_values(good) if name.endswith(".json") else st.nothing()
