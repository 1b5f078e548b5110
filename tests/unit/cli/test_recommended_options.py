"""Messages recommend options; whoever can print a message has the options that it recommends."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.paths import ROOT
from tests.unit.cli.parsing.test_help import options_of

LOADS = ("run", "live", "demo", "probe", "tune", "sweep")
"""The commands that drive a load which their options describe."""

MODULES = {
    "session/load/": LOADS,
    "session/control/": LOADS,
    "load/engine/": LOADS,
    "load/workers/": LOADS,
    "tuning/preflight/": LOADS,
    "diagnosis/": LOADS,
    "cli/runner/new_session.py": LOADS,
    "record/files/recorder.py": LOADS,
    "demo/": ("demo", "tune", "sweep", "versions"),
}
"""Where messages come from that several commands print."""

ELSEWHERE = {
    "demo/setup.py": "options of the server program",
    "demo/leftovers.py": "options of the server program",
    "demo/binaries.py": "options of the server program, and of apt-get",
    "demo/systemd_scope.py": "options of systemd-run",
    "demo/instance.py: --init-file": "an option of the server program",
    "demo/server.py: --defaults-file": "in a command that is printed",
    "session/load/host_check.py": "for an address that another host cannot reach: that of a named server",
    "session/control/lag_guard.py": "names the option that was given",
    "session/control/load_commands.py: --users": "names the option that was given",
    "load/engine/choice.py: --users": "names the option that was given",
    "load/engine/choice.py: --ssl-mode": "for TLS, which the socket of a private server has not",
    "diagnosis/rules.py: --ab": "in a command that is printed",
}
"""Options in texts that are no recommendation to the command, by file, or by file and option."""


def words_of(path: Path) -> Iterator[str]:
    """The options in the texts of a module, apart from those of its docstrings."""
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from re.findall(r"(?<![\w-])--[a-z][a-z-]+", node.value)


@cache
def recommended() -> list[tuple[str, str, str]]:
    """File, option and command."""
    package = ROOT / "tuibench"
    found = []
    for place, commands in MODULES.items():
        files = sorted((package / place).rglob("*.py")) if place.endswith("/") else [package / place]
        for path in files:
            name = path.relative_to(package).as_posix()
            found += [(name, word, command) for word in dict.fromkeys(words_of(path)) for command in commands]
    return found


def is_elsewhere(file: str, option: str) -> bool:
    return file in ELSEWHERE or f"{file}: {option}" in ELSEWHERE


@cache
def missing() -> list[tuple[str, str, str]]:
    options = {command: options_of(command) for command in {command for _, _, command in recommended()}}
    return [(file, word, command) for file, word, command in recommended() if word not in options[command]]


def test_a_command_has_the_options_that_its_messages_recommend() -> None:
    assert [one for one in missing() if not is_elsewhere(*one[:2])] == []
    for command in LOADS:
        assert ("session/load/load_controller.py", "--thread-init-timeout", command) in recommended()
    superfluous = [
        place
        for place in ELSEWHERE
        if not any(
            file == place.partition(": ")[0] and place.partition(": ")[2] in ("", word)
            for file, word, _ in missing()
        )
    ]
    assert superfluous == []
