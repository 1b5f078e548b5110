"""Initialisation of an empty directory."""

from pathlib import Path

import msgspec
import pytest

from tests.unit.demo.conftest import make_spec
from tuibench.demo import setup
from tuibench.demo.layout import DirectoryLayout
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import Flavour


def share(root: Path, folder: str, prefix: str) -> Path:
    made = root / folder
    made.mkdir(parents=True)
    for number, name in enumerate(setup.SCRIPTS):
        (made / f"{prefix}_{name}").write_text(f"select {number};")
    return made


@pytest.mark.parametrize(
    ("folder", "prefix"),
    [
        ("share/mysql", "mysql"),
        ("share/mariadb", "mariadb"),
        ("share", "mariadb"),
        ("share/mysql", "mariadb"),
    ],
)
def test_sql_files_beside_the_program(tmp_path: Path, folder: str, prefix: str) -> None:
    made = share(tmp_path, folder, prefix)
    assert setup.share_directory(str(tmp_path / "sbin" / "mariadbd")) == made
    sql = setup.bootstrap_sql(made).decode()
    assert sql.startswith("create database mysql;\nuse mysql;\nselect 0;\nselect 1;\nselect 2;\n")


def test_sql_files_of_a_program_behind_a_link(tmp_path: Path) -> None:
    made = share(tmp_path / "cellar", "share/mysql", "mariadb")
    (tmp_path / "cellar" / "bin").mkdir()
    (tmp_path / "cellar" / "bin" / "mariadbd").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mariadbd").symlink_to(tmp_path / "cellar" / "bin" / "mariadbd")
    assert setup.share_directory(str(tmp_path / "bin" / "mariadbd")) == made


def test_missing_sql_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "SHARE_NAMES", ("nowhere",))
    with pytest.raises(ServerUnavailableError, match=r"missing.*reinstall"):
        setup.share_directory(str(tmp_path / "sbin" / "mariadbd"))


def test_no_account_of_the_bootstrap_files_remains(tmp_path: Path) -> None:
    last = setup.bootstrap_sql(share(tmp_path, "share", "mariadb")).decode().splitlines()[-2:]
    assert last == ["DELETE FROM global_priv WHERE User <> 'mariadb.sys';", "DELETE FROM proxies_priv;"]


def test_a_template_is_copied_but_for_its_identity(tmp_path: Path, layout: DirectoryLayout) -> None:
    template = tmp_path / "template"
    (template / "mysql").mkdir(parents=True, mode=0o700)
    template.chmod(0o700)
    (template / "mysql" / "user").write_text("tables")
    (template / "auto.cnf").write_text("[auto]\nserver-uuid=1\n")
    spec = msgspec.structs.replace(make_spec(Flavour.MYSQL), template=str(template))
    setup.make_data_directory(spec, layout)
    assert sorted(path.name for path in layout.data.rglob("*")) == ["mysql", "user"]
    assert layout.data.stat().st_mode & 0o777 == 0o700
    assert (template / "auto.cnf").exists()


@pytest.mark.parametrize("flavour", list(Flavour))
def test_accounts(flavour: Flavour) -> None:
    lines = setup.accounts_sql(make_spec(flavour)).splitlines()
    created = [line for line in lines if line.startswith("CREATE USER")]
    assert [line.split()[2] for line in created] == ["'tuibench'@'localhost'", "'tuibench'@'127.0.0.1'"]
    assert all("'s3cret'" in line for line in created)
    assert all(line.endswith(";") for line in lines)
    assert lines[0] == "SET sql_log_bin = 0;"


def test_client_options() -> None:
    text = setup.client_options(make_spec(), DirectoryLayout(Path("/b/d")), 3307)
    assert text == (
        "[client]\nuser=tuibench\npassword=s3cret\nsocket=/b/d/mysql.sock\nport=3307\n\n[tuibench]\ndatabase=sbtest\n"
    )
