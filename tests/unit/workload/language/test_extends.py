"""A profile that stands upon another."""

from pathlib import Path

import pytest

from tuibench.errors import UsageError
from tuibench.workload import library

HEAD = 'summary = "s"\n'


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\n{HEAD}{text}')
    return path


def test_tables_add_up_and_the_rest_is_taken_over(tmp_path: Path) -> None:
    base = write(
        tmp_path, "base", 'extends = "oltp_read_only"\ndefaults.range_size = 5\ndefaults.tables = 2\n'
    )
    top = write(
        tmp_path,
        "top",
        f'extends = "{base}"\ndefaults.tables = 3\n'
        'options.more = { type = "flag", default = true, help = "h" }\n',
    )
    profile = library.load_profile(str(top))
    assert (profile.name, profile.data_set, profile.extends) == ("top", "sbtest", "")
    assert profile.defaults == {"range_size": 5, "tables": 3}
    assert set(profile.options) == {"more"}
    assert profile.transactions == library.load_profile("oltp_read_only").transactions


def test_a_default_may_be_given_to_an_option_of_the_base(tmp_path: Path) -> None:
    path = write(tmp_path, "few", 'extends = "select_random_points"\ndefaults.random_points = 3\n')
    assert library.load_program(str(path)).options["random_points"] == 3


def test_own_transactions_stand_instead(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "own",
        'extends = "oltp_read_write"\ntransactions = [{ name = "t", steps = ["sum_ranges"] }]\n',
    )
    (transaction,) = library.load_profile(str(path)).transactions
    assert transaction.name == "t"


def test_ones_own_profile_of_a_built_in_name_extends_the_built_in_one(tuibench_home: Path) -> None:
    folder = tuibench_home / "config" / "profiles"
    write(folder, "oltp_read_only", 'extends = "oltp_read_only"\ndefaults.tables = 9\n')
    assert library.load_program("oltp_read_only").options["tables"] == 9


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            'extends = "oltp_read_wirte"\n',
            "extends: there is no profile 'oltp_read_wirte'",
            "'oltp_read_write'?",
        ),
        ('extends = "oltp_read_only"\ndefaults.tabels = 1\n', "defaults.tabels: unknown option", "'tables'?"),
        (
            'extends = "oltp_read_only"\ntransactions = [{ name = "t", steps = ["sum_range"] }]\n',
            "transactions[0].steps[0]: unknown step 'sum_range'",
            "'sum_ranges'?",
        ),
        ("", "data_set: a profile needs data_set", ""),
    ],
)
def test_errors_name_the_file_that_extends(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = write(tmp_path, "bad", text)
    with pytest.raises(UsageError) as error:
        library.load_profile(str(path))
    assert error.value.message.startswith(f"{path}: {message}")
    assert hint in error.value.hint


def test_a_cycle_of_extends_is_reported(tmp_path: Path) -> None:
    one = write(tmp_path, "one", f'extends = "{tmp_path}/two.toml"\n')
    write(tmp_path, "two", f'extends = "{one}"\n')
    with pytest.raises(UsageError, match="extends itself"):
        library.load_profile(str(one))


def test_a_long_chain_of_extends_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "p0", 'extends = "oltp_read_only"\n')
    for number in range(1, 20):
        write(tmp_path, f"p{number}", f'extends = "{tmp_path}/p{number - 1}.toml"\n')
    assert library.load_profile(f"{tmp_path}/p5.toml").data_set == "sbtest"
    with pytest.raises(UsageError, match="at most 10 profiles"):
        library.load_profile(f"{tmp_path}/p19.toml")
