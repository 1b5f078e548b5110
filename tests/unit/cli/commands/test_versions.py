"""`tuibench versions` as a script meets it, as far as it needs no server."""

from pathlib import Path

import pytest

from tests import sweeps, versions
from tests.unit.cli.program import Program
from tuibench import paths
from tuibench.cli.commands.sweep.progress import SweepProgress
from tuibench.record.files.sweep_folder import SweepFolder, load_sweep
from tuibench.record.sweep.formats import versions_text


@pytest.fixture
def recorded(tuibench_home: Path) -> Path:
    directory = paths.sweeps_dir() / "compared"
    whole = versions.comparison()
    folder = SweepFolder.create(directory, whole.record)
    for start in whole.starts:
        folder.add(start)
    for result in whole.results:
        folder.add(result)
    folder.close()
    return directory


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no server program is named"),
        (("x:/none/mysqld",), "cannot run /none/mysqld"),
        (("/bin/true", "--cpus=0"), "--cpus must be between 0.1 and"),
        (("/bin/true", "--memory=much"), "--memory: 'much' is not a size"),
        (("/bin/true",), "is not a MariaDB or MySQL server"),
        (("--format=xml",), "--format: 'xml' is unknown"),
        (("--show=nowhere",), "there is no sweep in nowhere"),
        (("--resume=nowhere",), "there is no sweep in nowhere"),
        (("--resume=nowhere", "mysql:/x"), "--resume takes no other options"),
        (("--resume=nowhere", "--tables=4"), "--resume takes no other options"),
    ],
)
def test_what_cannot_be_is_refused(tuibench: Program, arguments: tuple[str, ...], said: str) -> None:
    ended = tuibench("versions", *arguments)
    assert ended.code in (2, 3)
    assert ended.out == ""
    assert said in ended.err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--starts=0", "--starts must be between"),
        ("--threads=0", "threads must be between"),
        ("--time=0", "needs a time limit"),
        ("--profile=oltp", "oltp"),
        ("--warehouses=2", "warehouses"),
        ("--my-cnf=/none.cnf", "cannot read the option file /none.cnf"),
        ("--mysqld-option=a b", "--mysqld-option takes NAME=VALUE"),
    ],
)
def test_options_are_refused_before_a_server_is_started(
    tuibench: Program, tmp_path: Path, option: str, said: str
) -> None:
    path = tmp_path / "mysqld"
    path.write_text("#!/bin/sh\necho 'mysqld  Ver 8.4.3 for Linux'\n")
    path.chmod(0o755)
    ended = tuibench("versions", str(path), option)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_recorded_comparison_is_shown(tuibench: Program, recorded: Path, tmp_path: Path) -> None:
    ended = tuibench("versions", "--show", "compared")
    assert (ended.code, ended.out) == (0, versions_text(load_sweep(recorded)))
    out = tmp_path / "page.html"
    assert tuibench("versions", f"--show={recorded}", "--format=html", f"--out={out}").code == 0
    assert "old against new" in out.read_text()


def test_a_comparison_that_is_complete_only_prints_itself(tuibench: Program, recorded: Path) -> None:
    ended = tuibench("versions", "--resume", "compared")
    assert (ended.code, ended.out) == (0, versions_text(load_sweep(recorded)))
    assert f"page with charts: {recorded}/versions.html" in ended.err


def test_a_sweep_is_refused(tuibench: Program, tuibench_home: Path) -> None:
    SweepFolder.create(paths.sweeps_dir() / "one", sweeps.record()).close()
    for option in ("--show", "--resume"):
        ended = tuibench("versions", option, "one")
        assert (ended.code, ended.out) == (2, "")
        assert "is not a comparison of versions" in ended.err


def test_a_comparison_is_not_resumed_as_a_sweep(tuibench: Program, recorded: Path) -> None:
    ended = tuibench("sweep", "--resume", "compared")
    assert (ended.code, ended.out) == (2, "")
    assert "tuibench versions --resume" in ended.err


def test_the_outlook_says_how_long_it_takes() -> None:
    said: list[str] = []
    talk = SweepProgress(versions.PLAN, said.append)
    assert talk.outlook(versions.record()) == (
        "12 runs: 2 tests × 2 servers × 1 number of threads × 3 starts, 1 + 5 s each, and 01:00 for starts "
        "and tables: about 02:42 to go"
    )
