"""Bundles: nothing in them says who measured where, a changed one is refused."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import SERVER
from tests.unit.record.steady import steady
from tests.unit.record.written import ENVIRONMENT
from tuibench.base.errors import RunError, UsageError
from tuibench.model.event import Event, EventKind
from tuibench.model.server import Target
from tuibench.record.bundle import MANIFEST, Manifest, Redaction, pack, unpack
from tuibench.record.reader import load_run
from tuibench.record.recorder import PlanRecord

SECRETS = (
    "plantedhost",
    "planteduser",
    "planted-dir",
    "plantedlogin",
    "10.1.2.3",
    "planted-laptop",
    "bystander",
)


def recorded(folder: Path) -> Path:
    """A run on a named server, by a named user, with other clients in its events."""
    run = steady(folder, "run-1")
    plan = msgspec.json.decode((run / "plan.json").read_bytes(), type=PlanRecord)
    datadir = "/srv/planted-dir/data/"
    plan = replace(
        plan,
        target=Target(
            host="plantedhost.example.org", user="planteduser", login=("--login-path=plantedlogin",)
        ),
        server=replace(
            SERVER,
            where="plantedhost.example.org:3306",
            identity=f"plantedhost.example.org:3306:{datadir}",
            datadir=datadir,
            pid_file=f"{datadir}mysqld.pid",
            socket="/run/planted-dir/mysqld.sock",
        ),
        profile_text="# counts rows of table planted\n",
    )
    (run / "plan.json").write_bytes(msgspec.json.encode(plan))
    environment = replace(ENVIRONMENT, host=replace(ENVIRONMENT.host, name="planted-laptop"))
    (run / "environment.json").write_bytes(msgspec.json.encode(environment))
    events = [
        Event(
            at=1.0,
            elapsed_seconds=1.0,
            kind=EventKind.FOREIGN,
            text="other clients: bystander@10.1.2.3, and planteduser from plantedhost.example.org",
        ),
        Event(at=2.0, elapsed_seconds=2.0, kind=EventKind.RESTART, text=f"cannot open {datadir}ibdata1"),
    ]
    (run / "events.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return run


def bundled(tmp_path: Path, pages: Callable[[Path], dict[str, str]] = lambda _: {}) -> Path:
    place = tmp_path / "bundle.tar.gz"
    manifest = Manifest(tuibench="1.0", kind="runs", records=("run-1",))
    redaction = Redaction({"planted-laptop": "host"})
    pack(place, {"run-1": recorded(tmp_path)}, redaction, manifest, pages, tmp_path / "scratch")
    return place


def contents(place: Path) -> dict[str, bytes]:
    with tarfile.open(place) as archive:
        found = {entry.name: archive.extractfile(entry) for entry in archive}
    with tarfile.open(place) as archive:
        return {name: (archive.extractfile(name) or io.BytesIO()).read() for name in found}


def test_no_secret_user_or_host_is_in_a_bundle(tmp_path: Path) -> None:
    every = contents(bundled(tmp_path))
    assert "record/run-1/samples.jsonl.gz" in every
    for name, data in every.items():
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode(errors="replace") + name
        assert [secret for secret in SECRETS if secret in text] == [], name


def test_what_was_removed_is_listed_without_its_value(tmp_path: Path) -> None:
    removed = json.loads(contents(bundled(tmp_path))[MANIFEST])["removed"]
    kinds = {line.split()[0] for line in removed}
    assert kinds == {"host", "user", "path", "server", "login"}


def test_the_same_run_comes_out_of_it(tmp_path: Path) -> None:
    place, folder = bundled(tmp_path), tmp_path / "out"
    assert unpack(place, folder).records == ("run-1",)
    there, here = load_run(tmp_path / "run-1"), load_run(folder / "record" / "run-1")
    assert here.samples == there.samples
    assert here.summary == there.summary
    assert here.plan.plan == there.plan.plan
    assert here.plan.profile_text == there.plan.profile_text
    assert (here.plan.target.host, here.plan.target.user) == ("host 2", "user 1")


def test_the_same_record_makes_the_same_bundle(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert bundled(tmp_path / "a").read_bytes() == bundled(tmp_path / "b").read_bytes()


def rewritten(place: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    every = contents(place)
    change(every)
    with tarfile.open(place, "w:gz") as archive:
        for name, data in every.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return place


@pytest.mark.parametrize(
    "change",
    [
        lambda every: every.update({"record/run-1/summary.json": every["record/run-1/summary.json"] + b" "}),
        lambda every: every.pop("record/run-1/events.jsonl"),
        lambda every: every.update({"record/run-1/extra.json": b"{}"}),
    ],
    ids=["changed", "removed", "added"],
)
def test_a_tampered_bundle_is_refused(tmp_path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    place = rewritten(bundled(tmp_path), change)
    with pytest.raises(RunError, match="was changed after it was made"):
        unpack(place, tmp_path / "out")


@pytest.mark.parametrize("name", ["../outside", "/outside", "record/../../outside"])
def test_no_file_is_written_outside(tmp_path: Path, name: str) -> None:
    place = rewritten(bundled(tmp_path), lambda every: every.update({name: b"x"}))
    with pytest.raises(UsageError, match="an entry that no bundle has"):
        unpack(place, tmp_path / "out")
    assert not (tmp_path / "outside").exists()


def test_what_is_no_bundle(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no archive")
    for place in (text, tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError, match="is not a bundle"):
            unpack(place, tmp_path / "out")


def test_a_page_with_a_name_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"report\.md still has a name"):
        bundled(tmp_path, lambda _: {"report.md": "measured on plantedhost.example.org"})
    assert not (tmp_path / "bundle.tar.gz").exists()


def test_a_user_who_is_called_like_a_word_of_the_format_does_not_damage_it() -> None:
    redaction = Redaction()
    document = {"schema": "sweep/1", "user": "sweep", "text": "denied for sweep", "database": "sweep"}
    redaction.learn(document)
    assert redaction.clean(document) == {
        "schema": "sweep/1",
        "user": "user 1",
        "text": "denied for sweep",
        "database": "sweep",
    }
    assert list(redaction.summary()) == [
        "user 1: 1 place; it stays in other texts, being a word of the profile or the database"
    ]
