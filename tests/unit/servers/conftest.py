"""Example servers and directories, and a folder that looks like cgroup v2."""

import shutil
from pathlib import Path

import pytest

from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary
from tuibench.servers.instance import ServerSpec
from tuibench.servers.process import DirectoryLayout


def make_spec(
    flavour: Flavour = Flavour.MARIADB, base: str = "/b", options: tuple[str, ...] = ()
) -> ServerSpec:
    return ServerSpec(
        binary=Binary(path="/x/sbin/serverd", flavour=flavour, version="11.8.9"),
        base=base,
        user="tuibench",
        password="s3cret",
        database="sbtest",
        options=options,
    )


@pytest.fixture
def layout(tmp_path: Path) -> DirectoryLayout:
    """A new directory as the supervisor creates it."""
    return DirectoryLayout.create(tmp_path)


class Hierarchy:
    """A folder that looks like cgroup v2; its groups have the files that the kernel makes.

    `own` names the group of this process: a scope below a slice.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.own = tmp_path / "cgroup", tmp_path / "own"
        (self.root).mkdir()
        (self.root / "cgroup.controllers").write_text("cpu memory\n")
        make = Path.mkdir

        def mkdir(path: Path, **options: bool) -> None:
            make(path, **options)
            (path / "cgroup.procs").touch()

        self.scope = self.in_scope("session-1.scope")
        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", lambda path: shutil.rmtree(path))

    def in_scope(self, name: str) -> Path:
        """Make a scope of this name, and this process one of its processes."""
        scope = self.root / "user.slice" / name
        scope.mkdir(parents=True)
        self.own.write_text(f"4:memory:/elsewhere\n0::/user.slice/{name}\n")
        return scope

    def delegates(self, group: Path, controllers: str) -> None:
        (group / "cgroup.subtree_control").write_text(controllers + "\n")


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    return Hierarchy(tmp_path, monkeypatch)
