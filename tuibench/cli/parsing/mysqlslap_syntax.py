"""mysqlslap's options that `tuibench slap` has in another form, or not at all."""

from collections.abc import Sequence

from tuibench.errors import UsageError

TRANSLATED = {"--ssl": "--ssl-mode=required", "--skip-ssl": "--ssl-mode=disabled", "-C": "--compress"}
IGNORED = frozenset({"-T", "--debug-check", "--debug-info"})
"""Switches that print how the client itself fares; `slap` prints its own load on stderr anyway."""
SQL_MODE = "--sql-mode"
REFUSED = {
    "--login-path": (
        "files of mysql_config_editor are not read",
        "use --defaults-file",
    ),
    "--plugin-dir": ("the driver has no plugins", "leave it out"),
    "--default-auth": ("the server names the way to log in", "leave it out"),
}


def translate_options(arguments: Sequence[str]) -> list[str]:
    """The arguments of `slap` in its own words. Raises UsageError for what cannot be had."""
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
