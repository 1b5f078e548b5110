"""Passwords on the command line and in the environment: removed before other modules are imported.

Other users see both in `ps` and /proc. If the command line contains a password, the program restarts itself
without it, and receives it through a pipe. Until then the password is visible, so this module imports as
little as possible. `MYSQL_PWD` is removed from the environment, so that no child inherits it, and overwritten
in the memory that /proc shows. A child process that needs a password gets it through a pipe.
"""

import os
import sys

from tuibench.base.own_process import own_command

PASSWORD_OPTIONS = ("--password", "--mysql-password")
PASSWORD_PIPE = "TUIBENCH_PASSWORD_FD"  # noqa: S105
"""The environment variable with the descriptor of the pipe; it never contains the password."""

VARIABLE = "MYSQL_PWD"
_removed: list[str] = []
"""The original value of `VARIABLE`, if it was set."""


def conceal() -> None:
    """Restart the program if its arguments contain a password; remove a password from the environment."""
    password, rest = without_password(sys.argv[1:])
    if password is not None:
        _restart(rest, password)
    sys.argv[1:] = rest
    if VARIABLE in os.environ:
        _removed[:] = [os.environ[VARIABLE]]
        _overwrite(VARIABLE)
        del os.environ[VARIABLE]


def environment_password() -> str | None:
    """The password from the environment, if any."""
    return _removed[0] if _removed else os.environ.get(VARIABLE)


def inherited_password() -> str | None:
    """The password that was removed from the command line before the restart.

    Raises UnicodeDecodeError if it is not valid text.
    """
    number = os.environ.pop(PASSWORD_PIPE, None)
    if number is None:
        return None
    with os.fdopen(int(number), "rb") as pipe:
        return pipe.read().decode()


def without_password(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The password in the arguments, if any, and the arguments without it.

    A password follows `=` or `-p` directly, as in the MySQL clients; otherwise the option asks for a
    password, and the next word is not the password.
    """
    password, rest = None, []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name.startswith("--") and name.replace("_", "-") in PASSWORD_OPTIONS:
            if equals:
                password = value
            else:
                rest.append("-p")
        elif argument.startswith("-p") and len(argument) > len("-p"):
            password = argument[2:]
        else:
            rest.append(argument)
    return password, rest


def _restart(arguments: list[str], password: str) -> None:
    reading, writing = os.pipe()
    os.write(writing, os.fsencode(password))
    os.close(writing)
    os.set_inheritable(reading, True)
    os.environ[PASSWORD_PIPE] = str(reading)
    if password and sys.stderr is not None:
        try:
            sys.stderr.write(
                "tuibench: until the program has started, a password on the command line is visible to other "
                "users; -p asks for it\n"
            )
            sys.stderr.flush()
        except OSError:
            pass
    command = own_command("tuibench", *arguments)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        raise SystemExit(
            f"tuibench: cannot hide the password: {command[0]} does not start again: {error.strerror} "
            "(-p asks for the password)"
        ) from None


def _overwrite(name: str) -> None:
    """Overwrite the variable's value with zeros in the process's initial environment, which /proc shows."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
        library.getenv.restype = ctypes.c_void_p
        address = library.getenv(name.encode())
        if address:
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
    except (ImportError, OSError, AttributeError):
        pass
