"""Whatever bytes a file of ours holds: it is understood, passed over, or refused in words."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import sweeps
from tuibench import config
from tuibench.errors import TuibenchError
from tuibench.model.schedule import parse_schedule
from tuibench.mysql.option_files import read_options
from tuibench.record.files import limits, reader
from tuibench.record.files.schema import PlanRecord, StatusLine
from tuibench.record.files.sweep_folder import RECORD, RESULTS, SweepFolder, load_sweep
from tuibench.tuning.change.production_consent import ProductionConsent
from tuibench.tuning.undo.journal_entries import decode_journal
from tuibench.tuning.undo.leftovers import leftovers
from tuibench.workload import library


def journal(path: Path) -> object:
    return decode_journal(path.read_bytes(), str(path))


def claimed(path: Path) -> object:
    path.rename(path.with_name("a.jsonl"))
    return leftovers(path.parent)


def record_lines(path: Path) -> object:
    return list(reader.JsonLines().of(path, StatusLine, limits.STATUS))


def sweep(path: Path) -> object:
    """These results of a sweep whose record is whole, then a sweep with this record."""
    whole = path.parent / "whole"
    SweepFolder.create(whole, sweeps.record()).close()
    (whole / RESULTS).write_bytes(path.read_bytes())
    with contextlib.suppress(TuibenchError):
        load_sweep(whole)
    path.rename(path.with_name(RECORD))
    return load_sweep(path.parent)


READERS: dict[str, Callable[[Path], object]] = {
    "journal": journal,
    "leftover": claimed,
    "record": lambda path: reader.read_document(path, PlanRecord),
    "lines": record_lines,
    "consent": lambda path: ProductionConsent(path).is_given("box"),
    "configuration": lambda path: config.read_section("screen", path),
    "sweep": sweep,
    "plan": lambda path: parse_schedule(path.read_text(encoding="utf-8", errors="replace")),
    "profile": lambda path: library.load_profile(str(path)),
    "option file": lambda path: read_options(str(path)),
}

ODD = {
    "no UTF-8": b'{"\xff": 1}\n\n',
    "deep JSON": b'{"options": ' + b"[" * 5000 + b"\n\n",
    "a long number": b"x = " + b"9" * 5000 + b"\n",
    "deep TOML": b"x = " + b"[" * 5000 + b"\n",
    "includes of no name": b"[client]\n!include a\0b\n!includedir ~nobody-we-know/x\n",
    "nothing": b"",
}


def read(name: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        path.write_bytes(data)
        with contextlib.suppress(TuibenchError):
            READERS[name](path)


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", READERS)
def test_what_is_odd(name: str, data: bytes) -> None:
    read(name, data)


@pytest.mark.parametrize("name", READERS)
@given(data=st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
@example(data=b"\xff\n")
def test_any_bytes(name: str, data: bytes) -> None:
    read(name, data)
