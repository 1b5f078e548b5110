"""mysqlslap options that `tuibench slap` replaces or does not support."""

from collections.abc import Sequence

from tuibench.errors import UsageError

TRANSLATED = {"--ssl": "--ssl-mode=required", "--skip-ssl": "--ssl-mode=disabled", "-C": "--compress"}
IGNORED = frozenset({"-T", "--debug-check", "--debug-info"})
"""Switches for the client's own statistics; `slap` always prints its own load on stderr."""
SQL_MODE = "--sql-mode"
REFUSED = {
    "--login-path": (
        "files of mysql_config_editor are not read",
        "use --defaults-file",
    ),
    "--plugin-dir": ("the driver has no plugins", "leave it out"),
    "--default-auth": ("the server chooses the authentication method", "leave it out"),
}


def translate_options(arguments: Sequence[str]) -> list[str]:
    """Translate the arguments to those of `slap`. Raises UsageError for unsupported ones."""
    if not arguments or arguments[0] != "slap":
        return list(arguments)
    return [_translate(each) for each in arguments if each not in IGNORED]


def _translate(argument: str) -> str:
    name, equals, value = argument.partition("=")
    if name in REFUSED:
        why, hint = REFUSED[name]
        raise UsageError(f"{name}: {why}", hint)
    if name == SQL_MODE and equals:
        return f"--init-command=SET sql_mode='{value}'"
    return TRANSLATED.get(argument, argument)
