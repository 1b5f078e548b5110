"""Option files are read as the server's own clients read them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.errors import ExitCode, UsageError
from tuibench.mysql import option_files
from tuibench.mysql.option_files import (
    IncludeDirective,
    OptionEntry,
    OptionValues,
    merge_entries,
    parse_option_file,
    read_options,
)


def read(text: str, suffix: str = "") -> OptionValues:
    return merge_entries(
        (item for item in parse_option_file(text, "my.cnf") if isinstance(item, OptionEntry)), suffix
    )


def refusal(text: str) -> str:
    """Why the text is refused, or "read"."""
    try:
        read(text)
    except UsageError as error:
        return error.message
    return "read"


@for_each(
    ("text", "options"),
    [
        (
            "[client]\nhost = db.example\nport=3307\nuser=ann\npassword=secret\ndatabase=shop\n",
            {"host": "db.example", "port": 3307, "user": "ann", "password": "secret", "database": "shop"},
        ),
        ("[mysqld]\nport=1\n[client]\ndefault-character-set=utf8mb4\nuser=ann\n", {"user": "ann"}),
        ("# one\n; two\n\n  [client]\n  # three\n user = ann # four\n", {"user": "ann"}),
        ("[tuibench]\nuser=a\n[client]\nuser=b\n", {"user": "b"}),
        ("[client]\nuser=b\n[tuibench]\nuser=a\n", {"user": "a"}),
        (
            "[client]\nssl_ca=/a\nssl-cert=/b\nloose_ssl-key=/c\n",
            {"ssl_ca": "/a", "ssl_cert": "/b", "ssl_key": "/c"},
        ),
        ("[client]\nssl-mode=VERIFY_CA\n", {"ssl_mode": "verify-ca"}),
        ("[client]\nssl_mode = required\n", {"ssl_mode": "required"}),
        ("[client]\nssl\n", {"ssl_mode": "required"}),
        ("[client]\nssl=1\n", {"ssl_mode": "required"}),
        ("[client]\nssl=0\n", {"ssl_mode": "disabled"}),
        ("[client]\nskip-ssl\n", {"ssl_mode": "disabled"}),
        ("[client]\nssl-verify-server-cert\n", {"ssl_mode": "verify-identity"}),
        (
            "[client]\nssl-mode=required\nskip-ssl=0\nssl-verify-server-cert=0\n",
            {"ssl_mode": "required"},
        ),
        ("[client]\npassword\nuser=ann\n", {"user": "ann"}),
        (
            "[client]\nconnect_timeout=5\n[tuibench]\nquery-timeout=2.5\nnet-timeout=60\n",
            {"connect_timeout": 5.0, "query_timeout": 2.5, "net_timeout": 60.0},
        ),
        ("[client]\nconnect-timeout=0\n", {}),
    ],
)
def test_what_a_file_says(text: str, options: OptionValues) -> None:
    """Groups and keys of other programs say nothing, comments neither; later wins, whatever the group."""
    assert read(text) == options


def test_a_group_suffix_adds_groups() -> None:
    text = "[client]\nuser=ann\n[client_two]\nuser=bob\n"
    assert read(text) == {"user": "ann"}
    assert read(text, "_two") == {"user": "bob"}


@for_each(
    ("written", "meant"),
    [
        ('"a b"', "a b"),
        ("'a b'", "a b"),
        ('"a#b"', "a#b"),
        ("a#b", "a"),
        (r'"a\"#b"', 'a"#b'),
        (r"a\sb", "a b"),
        (r"a\tb\nc", "a\tb\nc"),
        (r"a\\b", r"a\b"),
        (r"C:\data", r"C:\data"),
        ("a=b", "a=b"),
        ('"it\'s"', "it's"),
        ('""', ""),
    ],
)
def test_quotes_and_escapes(written: str, meant: str) -> None:
    assert read(f"[client]\npassword = {written}\n") == {"password": meant}


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_any_printable_password_can_be_written(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    assert read(f'[client]\npassword="{escaped}"\n') == {"password": password}


@given(st.text())
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    assert refusal("[client]\n" + text).startswith(("my.cnf, line ", "read"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user=ann", "my.cnf, line 1: an option before the first [group]"),
        ("[client\nuser=ann", "my.cnf, line 1: a group without its closing ]"),
        ("\n!import x", "my.cnf, line 2: '!import x' is neither"),
        ("[client]\nport=many", "my.cnf, line 2: 'many' is no value for 'port' (a number from 1 to 65535)"),
        ("[client]\nport=70000", "my.cnf, line 2: '70000' is no value for 'port'"),
        ("[client]\nssl-mode=maybe", "my.cnf, line 2: 'maybe' is no value for 'ssl-mode' (one of disabled, "),
        ("[client]\nssl=maybe", "my.cnf, line 2: 'maybe' is no value for 'ssl' (0 or 1)"),
        ("[client]\nhost", "my.cnf, line 2: 'host' needs a value"),
        ("[tuibench]\n\nhots=db", "my.cnf, line 3: unknown key 'hots' in [tuibench] (did you mean 'host'?)"),
        *(
            (
                f"[tuibench]\n{key}={text}",
                f"my.cnf, line 2: '{text}' is no value for '{key}' (seconds, from 0.1 to 86400)",
            )
            for key, text in (
                ("query-timeout", "0"),
                ("net-timeout", "nan"),
                ("connect-timeout", "1d"),
                ("net-timeout", "inf"),
            )
        ),
        ("[tuibench]\nzzz=1", "my.cnf, line 2: unknown key 'zzz' in [tuibench] (known keys: host, port, "),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read(text)
    assert str(refusal.value).startswith(message)
    assert refusal.value.exit_code == ExitCode.USAGE_ERROR


def test_includes_stand_in_the_order_of_the_text() -> None:
    items = list(parse_option_file("!include /a.cnf\n[client]\nuser=ann\n!includedir /etc/more\n", "my.cnf"))
    assert items == [
        IncludeDirective("/a.cnf", is_folder=False),
        OptionEntry("my.cnf, line 3", "client", "user", "ann"),
        IncludeDirective("/etc/more", is_folder=True),
    ]


def test_an_included_file_is_read_at_the_place_of_its_directive(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text(f"[client]\nuser=first\nport=1\n!include {tmp_path}/other.cnf\nport=3\n")
    (tmp_path / "other.cnf").write_text("[client]\nuser=second\nport=2\n")
    assert read_options(str(main)) == {"user": "second", "port": 3}


def test_an_included_folder_gives_its_cnf_files_by_name(tmp_path: Path) -> None:
    main, folder = tmp_path / "main.cnf", tmp_path / "more"
    folder.mkdir()
    main.write_text(f"!includedir {folder}\n")
    (folder / "2.cnf").write_text("[client]\nuser=two\n")
    (folder / "1.cnf").write_text("[client]\nuser=one\nhost=h\n")
    (folder / "3.txt").write_text("[client]\nuser=three\n")
    assert read_options(str(main)) == {"user": "two", "host": "h"}


def test_includes_are_relative_to_the_file_that_has_them(tmp_path: Path) -> None:
    main, folder = tmp_path / "main.cnf", tmp_path / "more"
    folder.mkdir()
    main.write_text("!include more/1.cnf\n!include more/2.cnf\n")
    (folder / "1.cnf").write_text("[client]\nuser=one\n!include 3.cnf\n")
    (folder / "2.cnf").write_text("[client]\nhost=two\n")
    (folder / "3.cnf").write_text("[client]\nport=3\n")
    assert read_options(str(main)) == {"user": "one", "host": "two", "port": 3}


def test_files_that_include_each_other_come_to_an_end(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text(f"[client]\nuser=ann\n!include {main}\n!include /does/not/exist.cnf\n")
    assert read_options(str(main)) == {"user": "ann"}


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the option file .*none\.cnf: No such file"):
        read_options(str(tmp_path / "none.cnf"))
    with pytest.raises(UsageError, match="Is a directory"):
        read_options(str(tmp_path))
    with pytest.raises(UsageError, match="/dev/full: not a regular file"):
        read_options("/dev/full")


def test_what_includes_a_device_goes_on_without_it(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text("[client]\nuser=ann\n!include /dev/zero\n!include a\0b\n!include ~nobody-we-know/x\n")
    assert read_options(str(main)) == {"user": "ann"}


def test_default_files_may_be_missing_and_the_last_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.cnf", tmp_path / "b.cnf"
    first.write_text("[client]\nuser=system\nport=1\n")
    second.write_text("\ufeff[client]\nuser=mine\n", "utf-8")
    files = (str(first), str(tmp_path / "none.cnf"), str(second))
    monkeypatch.setattr(option_files, "DEFAULT_FILES", files)
    assert read_options() == {"user": "mine", "port": 1}


def test_a_named_file_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    default, named = tmp_path / "a.cnf", tmp_path / "b.cnf"
    default.write_text("[client]\nuser=system\n")
    named.write_text("[client]\nport=2\n")
    monkeypatch.setattr(option_files, "DEFAULT_FILES", (str(default),))
    assert read_options(str(named)) == {"port": 2}
