"""The commands `profiles` and `slap`."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import DATA, DOCS
from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode
from tuibench.cli import main as program
from tuibench.cli.arguments import normalize
from tuibench.workload import library

# `tuibench profiles`: what is printed, and what a mistake costs.


PAGE = DOCS / "profiles.md"
MINE = 'name = "mine"\nsummary = "my own"\nextends = "oltp_read_only"\n'


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the program in this process; returns exit code, data and talk."""

    def run(*arguments: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["tuibench", "profiles", *arguments])
        with pytest.raises(SystemExit) as ending:
            program.main()
        return (ending.value.code, *capsys.readouterr())

    return run


def test_the_list_names_every_profile(run: Any) -> None:
    code, out, err = run("list")
    assert (code, err) == (ExitCode.DONE, "")
    lines = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert set(lines) == set(library.available_profiles())
    assert lines["oltp_read_write"] == "sbtest"
    assert run() == run("list")


def test_the_list_for_programs(run: Any) -> None:
    listed = json.loads(run("list", "--format", "json")[1])
    assert [line["name"] for line in listed] == sorted(library.available_profiles())
    assert all(Path(line["file"]).is_file() and line["summary"] for line in listed)


def test_a_broken_profile_of_ones_own_does_not_hide_the_others(run: Any, tuibench_home: Path) -> None:
    folder = tuibench_home / "config" / "profiles"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(MINE + "repaet = 1\n")
    code, out, _ = run("list")
    assert code == ExitCode.DONE
    assert "broken: " in next(line for line in out.splitlines() if line.startswith("mine "))
    assert "oltp_read_write" in out
    listed = json.loads(run("list", "--format=json")[1])
    assert "did you mean 'repeat'?" in next(line["error"] for line in listed if line["name"] == "mine")


def test_a_profile_is_shown_with_options_and_statements(run: Any) -> None:
    code, out, _ = run("show", "oltp_read_write.range10000")
    assert code == ExitCode.DONE
    assert out.startswith("oltp_read_write.range10000: oltp_read_write with --range-size=10000\n")
    assert "--range-size=10000 " in out
    assert "--skip-trx=off " in out
    assert "(at least 1, at most 100,000)" in out
    assert "read_write: between BEGIN and COMMIT unless --skip-trx" in out
    assert "when range_selects, simple_ranges times:\n      id = key(low=1, high=table_size)" in out
    assert "point_select: SELECT c FROM {table} WHERE id=?" in out
    assert "threads" not in out


def test_loops_captures_and_rollbacks_are_shown(run: Any) -> None:
    out = run("show", "tpcc")[1]
    assert "transactions, dealt from a deck:\n  new_order: between BEGIN and COMMIT, weight 45" in out
    assert "    lines times:\n" in out
    assert (
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE   -> o_id, d_tax"
        in out
    )
    assert "      when i_price == null:\n        ROLLBACK\n" in out
    assert (
        "i_ids = list(of=nurand(a=8191, low=1, high=items), count=lines, ordered=True, distinct=True)" in out
    )


def test_parts_and_text_are_shown(run: Any) -> None:
    assert "{points}: random_points times ?" in run("show", "select_random_points")[1]
    assert "(sent as text)" in run("show", "oltp_insert")[1]


def test_a_profile_is_shown_to_programs(run: Any) -> None:
    shown = json.loads(run("show", "oltp_read_only.range10", "--format=json")[1])
    assert shown["options"]["range_size"]["default"] == 10
    assert shown["options"]["table_size"]["minimum"] == 1
    (transaction,) = shown["transactions"]
    assert transaction["steps"][0]["statements"][0]["sql"] == "SELECT c FROM {table} WHERE id=?"
    assert shown["data_set"] == "sbtest"


@for_each("name", library.available_profiles())
def test_every_profile_can_be_shown_and_checked(run: Any, name: str) -> None:
    assert run("show", name)[0] == ExitCode.DONE
    assert json.loads(run("show", name, "--format=json")[1])["name"] == name
    assert run("check", name) == (ExitCode.DONE, f"{name}: ok\n", "")


def test_a_good_file_is_ok(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text(MINE)
    for name in ("mine.txt", "./mine.txt", str(tmp_path / "mine.txt")):
        assert run("check", name) == (ExitCode.DONE, f"{name}: ok\n", "")
    assert json.loads(run("check", "mine.txt", "--format", "json")[1]) == {
        "name": "mine", "ok": True, "statements": None, "refused": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nmae = 1", "unknown field `nmae` (did you mean 'name'?)"),
        ("name =", "not valid TOML"),
        (MINE + 'transactions = [{ name = "t", steps = ["sum_range"] }]', "did you mean 'sum_ranges'?"),
        (MINE + "defaults = { point_selects = 0, range_selects = false }", "has no statements"),
        (
            MINE
            + 'transactions = [{ name = "t", steps = [{ let.x = { make = "key", low = "1 // connection", '
            'high = 9 }, statements = [{ name = "s", sql = "SELECT ?", bind = ["x"] }] }] }]',
            "an expression has no value",
        ),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(run: Any, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    code, out, err = run("check", str(file))
    assert (code, out) == (ExitCode.USAGE_ERROR, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_commands_of_the_documentation_work(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    commands = re.findall(r"^\$ tuibench profiles (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        assert run(*command.split())[0] == ExitCode.DONE


# The command line of slap: what it would send beside mysqlslap's own words, and what it refuses.


WORDS = {
    "mixed": "-a -c 2 -i2 --auto-generate-sql-write-number=5 --auto-generate-sql-unique-write-number=2 "
    "--auto-generate-sql-unique-query-number=3 --number-of-queries=6 --commit=2 "
    "--engine=innodb,memory:max_rows=5 --auto-generate-sql-add-autoincrement -x2:1 -y2:1 "
    "--auto-generate-sql-secondary-indexes=2",
    "update": "-a --auto-generate-sql-write-number=2 --auto-generate-sql-unique-query-number=2 "
    "--auto-generate-sql-load-type=update --auto-generate-sql-guid-primary -x1 -y1",
    "read": "-a --no-drop --auto-generate-sql-write-number=2 --auto-generate-sql-load-type=read "
    "--auto-generate-sql-execute-number=3",
}
OWN = (
    "--create=CREATE TABLE a (b int);INSERT INTO a VALUES (1)",
    "--query=SELECT * FROM a;SELECT 2",
    "--delimiter=;",
    "--pre-query=SELECT 3",
    "--post-query=SELECT 4;SELECT 5",
    "-c2",
    "--engine=innodb",
    "--create-schema=own",
)


@pytest.fixture
def slap(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def masked(text: str) -> str:
    """Random texts and numbers under the names that the recorded output has for them."""
    return re.sub(r"\b\d{5,}\b", "INTEGER", re.sub(r"'[A-Za-z0-9]{126}'", "'TEXT'", text))


@pytest.mark.parametrize("name", WORDS)
def test_the_same_is_sent_as_by_mysqlslap(slap: Program, name: str) -> None:
    ended = slap("slap", "--only-print", "--rand-seed=1", *WORDS[name].split())
    assert (ended.code, ended.err) == (ExitCode.DONE, "")
    assert masked(ended.out) == (DATA / f"mysqlslap-only-print-{name}.txt").read_text()


def test_the_same_is_sent_of_own_statements(slap: Program) -> None:
    assert slap("slap", "--only-print", *OWN).out == (DATA / "mysqlslap-only-print-own.txt").read_text()


def test_statements_from_files(slap: Program, tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("SELECT 1\nSELECT 2\n")
    assert slap("slap", "--only-print", f"--query={file}").out == "SELECT 1;\nSELECT 2;\n"


def test_csv_may_stand_alone() -> None:
    assert normalize(["slap", "-a", "--csv"]) == ["slap", "-a", "--csv=-"]
    assert normalize(["slap", "-a", "--csv=file"]) == ["slap", "-a", "--csv=file"]
    assert normalize(["run", "--csv", "file"]) == ["run", "--csv", "file"]
