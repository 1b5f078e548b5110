"""Option files are read as the server's own clients read them."""

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.login_files import login_file_bytes
from tests.tables import for_each
from tuibench.base.errors import ExitCode, UsageError
from tuibench.mysql import option_files
from tuibench.mysql.option_files import (
    IncludeDirective,
    OptionEntry,
    OptionFiles,
    OptionValues,
    merge_entries,
    parse_option_file,
    read_login_file,
    read_options,
)


@pytest.fixture(autouse=True)
def _no_login_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_TEST_LOGIN_FILE", str(tmp_path / "no-login.cnf"))


def read(text: str, suffix: str = "", told: list[str] | None = None) -> OptionValues:
    items = (item for item in parse_option_file(text, "my.cnf") if isinstance(item, OptionEntry))
    return merge_entries(items, suffix, tell=([] if told is None else told).append)


def read_file(path: Path, told: list[str] | None = None) -> OptionValues:
    return read_options(OptionFiles(str(path)), ([] if told is None else told).append)


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
            "[client]\nssl-mode=required\nssl-verify-server-cert=0\n",
            {"ssl_mode": "required"},
        ),
        ("[client]\nskip-ssl=0\n", {"ssl_mode": "required"}),
        ("[client]\nskip-ssl\nssl-ca=/a\n", {"ssl_ca": "/a"}),
        ("[client]\nssl-ca=/a\nssl=0\n", {"ssl_ca": "/a", "ssl_mode": "disabled"}),
        ("[client]\nssl-mode=disabled\nssl-ca=/a\n", {"ssl_ca": "/a", "ssl_mode": "disabled"}),
        ("[client]\ndisable-ssl\nenable-compress=1\n", {"ssl_mode": "disabled", "compress": True}),
        ("[client]\nskip-host=a\nmaximum-port=9\nskip-column-names\n", {"port": 9}),
        ("[CLIENT ]\nHOST=a\n[ client]\nhost=b\n", {"host": "a"}),
        ("[mysql]\nuser=m\n[mariadb-client]\nhost=c\n", {"user": "m", "host": "c"}),
        ("[client-server]\nsocket=/s\n[client-mariadb]\nport=4\n", {"socket": "/s", "port": 4}),
        ("[mariadb]\nuser=a\n[mysqldump]\nuser=b\n[server]\nsocket=/s\n[]\nuser=c\n", {}),
        (
            "[client]\npass=x\npor=7\nho=a\nloose-us=b\n",
            {"password": "x", "port": 7, "host": "a", "user": "b"},
        ),
        ("[client]\nport=3307\nport=0\n", {"port": 0}),
        ("[client]\nprotocol=TCP\n", {"protocol": "tcp"}),
        ("[client]\nprotocol=s\n", {"protocol": "socket"}),
        ("[client]\ncompression-algorithms=zstd,zlib\n", {"compress": True}),
        ("[client]\nssl-mode=req\npassword1=p\n", {"ssl_mode": "required", "password": "p"}),
        ("[client]\r\nuser=ann\r\n\v\n", {"user": "ann"}),
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


KEYS = st.sampled_from((*option_files.KNOWN_KEYS, *option_files.NOT_TAKEN, *option_files.REFUSED, "prompt"))
GROUPS = st.sampled_from(
    ("client", "tuibench", "CLIENT ", "client-server", "mysql", "mysqld", "client_x", "")
)
VALUES = st.sampled_from(
    (
        "", "0", "1", "on", "3307", "-1", "²", "9" * 5000, "1e400", "nan", "inf", "1_0", "+7", "0x10",
        "REQUIRED", "verify_", "tcp", "s", "zlib,", ",", "'", '"', "\\", "\\s", '"a\\"#b"', "\ufffd", "\0",
        "\x1b[2J", "/dev/null", "~", "~nobody-here/x", "a" * 5000, "$HOME", "%s",
    )
) | st.text(max_size=8)  # fmt: skip
DIRECTIVES = st.sampled_from(
    (
        "!include ",
        "!includedir ",
        "! include",
        "!includedir /proc/self\n",
        "!include /dev/null\n",
        "!include \0",
        "!",
    )
)
FRAGMENTS = st.sampled_from(
    (
        "[", "]", "=", "#", ";", "'", '"', "\\", "\n", "\r", "\v", "\0", "\x85", "\u2028", "\ufeff", "loose-",
        "skip-", "enable_", "maximum-", "é", "_", "-", "%",
    )
)  # fmt: skip


@st.composite
def damaged_file(draw: st.DrawFn) -> str:
    """An option file with strange values, and damage at a few places."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines.append(f"[{draw(GROUPS)}]")
        for _ in range(draw(st.integers(0, 4))):
            sign = draw(st.sampled_from(("=", " = ", "", "\t=")))
            prefix = draw(st.sampled_from(("", "", "", "loose-", "skip-", "enable-")))
            lines.append(
                draw(DIRECTIVES)
                if draw(st.integers(0, 9)) == 0
                else prefix + draw(KEYS) + sign + draw(VALUES)
            )
    text = "\n".join(lines)
    for _ in range(draw(st.integers(0, 5))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 12)))
        text = text[:begin] + draw(FRAGMENTS | st.text(max_size=5)) + text[end:]
    return text


def check_file(text: str) -> None:
    """What is read of a file, and of one that includes it, is read or refused with its place."""
    path, outer = Path("damaged.cnf"), Path("outer.cnf")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    outer.write_text(f"!include {path}\n[client]\nuser=ann\n")
    for each in (path, outer):
        said = ""
        try:
            assert 0 <= read_file(each).get("port", 0) < 65536
        except UsageError as error:
            said = error.message
        assert re.match(r"damaged\.cnf, line \d+: |$", said), said
    option_files.server_sockets(OptionFiles(str(path)))


@given(damaged_file())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    check_file(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user=ann", "my.cnf, line 1: an option before the first [group]"),
        ("[client\nuser=ann", "my.cnf, line 1: a group without its closing ]"),
        ("\n!import x", "my.cnf, line 2: '!import x' is neither"),
        (
            "[client]\nport=many",
            "my.cnf, line 2: 'many' is no value for 'port' (a number from 1 to 65535, or 0 for the default)",
        ),
        ("[client]\nprotocol=udp", "my.cnf, line 2: 'udp' is no value for 'protocol' (one of tcp, socket, "),
        ("[client]\nssl-mode=verify", "my.cnf, line 2: 'verify' is no value for 'ssl-mode'"),
        ("[client]\ncompression-algorithms=zstd", "my.cnf, line 2: 'zstd' is no value for"),
        ("[client]\nuser=\ufffd", "my.cnf, line 2: the value of 'user' is not valid UTF-8"),
        ("[client]\ndns-srv-name=db", "my.cnf, line 2: servers are not found by DNS service records"),
        ("[tuibench]\nprompt=db", "my.cnf, line 2: 'prompt' of the clients has no effect in [tuibench]"),
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
    assert read_file(main) == {"user": "second", "port": 3}


def test_an_included_folder_gives_its_cnf_files_by_name(tmp_path: Path) -> None:
    main, folder = tmp_path / "main.cnf", tmp_path / "more"
    folder.mkdir()
    main.write_text(f"!includedir {folder}\n")
    (folder / "2.cnf").write_text("[client]\nuser=two\n")
    (folder / "1.cnf").write_text("[client]\nuser=one\nhost=h\n")
    (folder / "3.txt").write_text("[client]\nuser=three\n")
    assert read_file(main) == {"user": "two", "host": "h"}


def test_includes_are_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main, folder = tmp_path / "more" / "main.cnf", tmp_path / "more"
    folder.mkdir()
    main.write_text("[client]\n! include  more/1.cnf\n!include 2.cnf\n")
    (folder / "1.cnf").write_text("[client]\nuser=one\n")
    (folder / "2.cnf").write_text("[client]\nuser=two\n")
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    assert read_file(main, told) == {"user": "one"}
    assert told == ["2.cnf is not read: No such file or directory"]


def test_a_file_that_everybody_may_write_is_not_read(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text("[client]\nhost=evil\n")
    main.chmod(0o666)
    told: list[str] = []
    assert read_file(main, told) == {}
    assert told == [f"{main} is not read: every user may write it (chmod o-w)"]


@for_each(
    ("text", "words"),
    [
        (
            "hots=db1",
            "my.cnf, line 2: 'hots' is not taken: it is no option of the clients (did you mean 'host'?)",
        ),
        ("zzz", "my.cnf, line 2: 'zzz' is not taken: it is no option of the clients"),
        ("ssl-crl=x", "my.cnf, line 2: 'ssl-crl' is not taken: a revoked"),
        ("init-command=SET @a=1", "my.cnf, line 2: 'init-command' is not taken: no statement"),
        ("p=x", "my.cnf, line 2: 'p' is not taken"),
        (
            "host=a\n[client-mariadb]\nhost=b",
            "MySQL's client reads host=a, MariaDB's host=b; here they mean host=b",
        ),
        ("loose-hots=db1", ""),
        ("prompt=x\nno-auto-rehash\ndefault-character-set=utf8mb4", ""),
        ("user=a\n[client-mariadb]\nhost=b", ""),
    ],
)
def test_what_is_not_taken_is_told(text: str, words: str) -> None:
    told: list[str] = []
    read(f"[client]\n{text}\n", told=told)
    assert [words in each for each in told] == [True] * bool(words)


def test_files_that_include_each_other_come_to_an_end(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text(f"[client]\nuser=ann\n!include {main}\n!include /does/not/exist.cnf\n")
    assert read_file(main) == {"user": "ann"}


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the option file .*none\.cnf: No such file"):
        read_file(tmp_path / "none.cnf")
    with pytest.raises(UsageError, match="Is a directory"):
        read_file(tmp_path)
    with pytest.raises(UsageError, match="/dev/full: not a regular file"):
        read_file(Path("/dev/full"))


def test_what_includes_a_device_goes_on_without_it(tmp_path: Path) -> None:
    main = tmp_path / "main.cnf"
    main.write_text("[client]\nuser=ann\n!include /dev/zero\n!include a\0b\n!include ~nobody-we-know/x\n")
    assert read_file(main) == {"user": "ann"}


def test_default_files_may_be_missing_and_the_last_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, extra = tmp_path / "a.cnf", tmp_path / "b.cnf", tmp_path / "extra.cnf"
    first.write_text("[client]\nuser=system\nport=1\n")
    second.write_text("\ufeff[client]\nuser=mine\n", "utf-8")
    extra.write_text("[client]\nuser=extra\nport=2\n")
    paths = (str(first), str(tmp_path / "none.cnf"), str(second))
    monkeypatch.setattr(option_files, "default_files", lambda: paths)
    assert read_options() == {"user": "mine", "port": 1}
    assert read_options(OptionFiles(extra_file=str(extra))) == {"user": "mine", "port": 2}
    assert read_options(OptionFiles(no_defaults=True)) == {}
    with pytest.raises(UsageError, match="cannot read the option file"):
        read_options(OptionFiles(extra_file="/none.cnf"))


def test_default_files_are_those_of_the_clients() -> None:
    assert option_files.default_files({}) == ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
    assert option_files.default_files({"MYSQL_HOME": "/srv"})[2:] == ("/srv/my.cnf", "~/.my.cnf")


def test_a_named_file_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    default, named = tmp_path / "a.cnf", tmp_path / "b.cnf"
    default.write_text("[client]\nuser=system\n")
    named.write_text("[client]\nport=2\n[client_eu]\nport=3\n")
    monkeypatch.setattr(option_files, "default_files", lambda: (str(default),))
    assert read_file(named) == {"port": 2}
    monkeypatch.setenv("MYSQL_GROUP_SUFFIX", "_eu")
    assert read_file(named) == {"port": 3}


# The login file of mysql_config_editor.

LOGIN = '[client]\nuser = "ann"\n[prod]\nhost = "db9"\npassword = "a\\"b#c"\n'
WRITTEN_BY_MYSQL = bytes.fromhex(
    "0000000008181610111d01101610071b090715161f18050410000000943422880bf2fdf6eeb7d0b4983c64a210000000"
    "491e0a5ce6f94b1381f7e1f595ce25e2100000001d0e7da9f3495f085b656011375090cb10000000749dfaef0c9487d2"
    "72269780c05e271a"
)


def write_login(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    path = folder / "login.cnf"
    path.write_bytes(login_file_bytes(text))
    path.chmod(0o600)
    monkeypatch.setenv("MYSQL_TEST_LOGIN_FILE", str(path))
    return path


def test_a_login_file_that_mysql_has_written() -> None:
    assert read_login_file(WRITTEN_BY_MYSQL) == '[prod]\nuser = "lee"\nhost = "dbp"\nport = 3311\n'


def test_a_login_path_is_a_group_of_the_login_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_login(LOGIN, monkeypatch, tmp_path)
    none = OptionFiles(no_defaults=True)
    assert read_options(none) == {"user": "ann"}
    named = none._replace(login_path="prod")
    assert read_options(named) == {"user": "ann", "host": "db9", "password": 'a"b#c'}
    assert read_options(none._replace(no_login_file=True)) == {}
    with pytest.raises(UsageError, match="has no login path 'test'"):
        read_options(none._replace(login_path="test"))
    path.chmod(0o644)
    told: list[str] = []
    assert read_options(none, told.append) == {}
    assert told == [f"{path} is not read: other users may read it (chmod 600)"]


@given(st.binary(max_size=200), st.integers(0, 300))
def test_any_bytes_are_a_login_file_or_refused(noise: bytes, place: int) -> None:
    data = login_file_bytes(LOGIN)
    for damaged in (noise, data[:place] + noise + data[place:], data[:place] + noise):
        with contextlib.suppress(ValueError):
            read_login_file(damaged)
