"""Lua scripts as profiles: their options and commands, and what is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tuibench.base import installation
from tuibench.base.errors import UsageError
from tuibench.load.native_engine import choose_before_login
from tuibench.model.plan import EngineChoice
from tuibench.workload import library, script
from tuibench.workload.compiler import known_options
from tuibench.workload.dataset import build_data_set

OPTIONS = [
    ("tables", "Number of tables", "3", "integer"),
    ("ratio", "A ratio", "0.5", "number"),
    ("use-fk", "Foreign keys", "true", "boolean"),
    ("levels", "Levels", "RR,RC", "list"),
    ("rand_type", "Its own default", "uniform", "string"),
]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script, and an engine that says what it declares."""

    def declared(given: dict[str, Any]) -> tuple[Any, ...]:
        if "error" in given["text"]:
            raise ValueError("my.lua:1: an error")
        has_events = "event" in given["text"]
        return OPTIONS, [("prepare", True), ("cleanup", False)], has_events, "", ""

    monkeypatch.setattr(installation, "native_module", lambda: SimpleNamespace(declared=declared))
    made = tmp_path / "my.lua"
    made.write_text("function event() end")
    return made


def test_the_options_of_a_script_are_those_of_its_profile(path: Path) -> None:
    known = known_options(library.load_profile(str(path)))
    assert {name: known[name].default for name in ("tables", "ratio", "use_fk", "levels", "rand_type")} == {
        "tables": 3,
        "ratio": 0.5,
        "use_fk": True,
        "levels": "RR,RC",
        "rand_type": "uniform",
    }
    assert known["tables"].help == "Number of tables"


def test_given_options_reach_the_script_as_text(path: Path) -> None:
    made = library.load_program(str(path), {"tables": "7", "use-fk": "off", "threads": 4})
    assert made.script is not None
    assert made.profile == "my"
    settings = script.native_settings(made.script, made.options, is_prepared=False)
    assert settings["given"] == {"tables": "7", "ratio": "0.5", "use_fk": "off", "levels": "RR,RC"}
    assert settings["general"]["threads"] == 4
    assert settings["general"]["db_ps_mode"] == "disable"
    assert build_data_set(made).describe() == "the script's tables (tables=7)"
    assert settings["distributions"]["default"] == "uniform"
    assert settings["search"][0] == str(path.parent.resolve())


@pytest.mark.parametrize(
    ("given", "allows"), [({}, False), ({"allow-script-io": ""}, True), ({"allow_script_io": "off"}, False)]
)
def test_files_and_programs_need_permission(path: Path, given: dict[str, str], allows: bool) -> None:
    made = library.load_program(str(path), given)
    assert made.script is not None
    assert script.native_settings(made.script, made.options)["allows_io"] is allows
    assert "allow_script_io" not in script.native_settings(made.script, made.options)["given"]


def test_unknown_options_and_wrong_values_are_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="unknown option --tabels") as caught:
        library.load_program(str(path), {"tabels": "7"})
    assert "--tables" in caught.value.hint
    with pytest.raises(UsageError, match="'many' is not an integer"):
        library.load_program(str(path), {"tables": "many"})


def test_a_script_that_declares_no_options_gets_any(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("function event() end -- of sysbench 0.5")
    monkeypatch.setattr(
        installation, "native_module", lambda: SimpleNamespace(declared=lambda _: ([], [], True, "", ""))
    )
    made = library.load_program(str(path), {"oltp-table-size": "7", "rand_type": "pareto", "threads": 3})
    assert made.script is not None
    settings = script.native_settings(made.script, made.options)
    assert settings["given"] == {"oltp_table_size": "7"}
    assert build_data_set(made).describe() == "the script's tables (oltp-table-size=7)"
    assert settings["distributions"]["default"] == "pareto"


def test_a_script_that_cannot_be_run_is_refused(path: Path) -> None:
    path.write_text("error")
    with pytest.raises(UsageError, match="an error"):
        library.load_profile(str(path))
    path.write_text("only commands")
    with pytest.raises(UsageError, match="has no events to run") as caught:
        library.load_program(str(path))
    assert "prepare, cleanup" in caught.value.hint


def test_without_lua_in_the_engine_the_hint_says_how_to_build_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("function event() end -- not built")
    monkeypatch.setattr(installation, "native_module", SimpleNamespace)
    with pytest.raises(UsageError, match="built without Lua") as caught:
        library.load_profile(str(path))
    assert caught.value.hint.startswith(installation.LUA_NEEDS)


def test_only_the_native_engine_runs_scripts(path: Path) -> None:
    made = library.load_program(str(path))
    with pytest.raises(UsageError, match="only the native engine"):
        choose_before_login(EngineChoice.ASYNCIO, made)


def test_a_missing_script_names_the_profile_of_that_name() -> None:
    with pytest.raises(UsageError, match="there is no script") as caught:
        library.find_profile("/nowhere/oltp_read_write.lua")
    assert "there is a profile oltp_read_write" in caught.value.hint
