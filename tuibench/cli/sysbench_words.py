"""A command line as sysbench's users write it, in the words of this program.

`oltp_read_write --threads=4 run` is `run oltp_read_write --threads=4`, a switch stands by itself
(`--histogram`), and sysbench's options that mean nothing here are taken where they ask for nothing.
"""

from collections.abc import Collection, Sequence

from tuibench.errors import UsageError

VERBS = ("prepare", "run", "cleanup")
TAKE = frozenset({*VERBS, "live", "probe", "sweep", "doctor", "check"})
"""The commands that take a profile with sysbench's options."""

RENAMED = {
    "--mysql-ssl-ca": "--ssl-ca",
    "--mysql-ssl-cert": "--ssl-cert",
    "--mysql-ssl-key": "--ssl-key",
    "--create-table-options": "--mysql-table-options",
    "--oltp-tables-count": "--tables",
    "--oltp-table-size": "--table-size",
}
SSL, SSL_MODES = "--mysql-ssl", {"on": "required", "off": "disabled"}
HISTOGRAM = "--histogram"
"""A switch in sysbench; our parser wants its value. Switches of profiles may stand bare anyway."""

ONLY = {
    "--db-driver": ("mysql", "only MySQL and MariaDB are driven", "leave it out"),
    "--db-debug": ("off", "there is no trace of the driver", "leave it out"),
    "--debug": ("off", "there is no such output", "--verbosity=5 says all there is"),
    "--forced-shutdown": ("off", "a run ends when its last transactions do", "leave it out"),
    "--mysql-debug": ("off", "there is no trace of the driver", "leave it out"),
    "--mysql-dry-run": (
        "off",
        "nothing can be left unsent",
        "tuibench profiles show NAME has the statements",
    ),
    "--mysql-ssl-cipher": ("", "the cipher cannot be chosen", "--ssl-mode says whether there is one"),
    "--thread-stack-size": ("64K", "connections have no stacks of their own", "leave it out"),
    "--validate": ("off", "answers are not validated", "tuibench check PROFILE looks at the tables"),
    "--config-file": ("", "files of sysbench's options are not read", "MySQL's are: --defaults-file"),
}
"""sysbench's options without a meaning here: the value that asks for nothing; else why not, what to do."""


def ordered(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments with the command first, which sysbench has behind the test's name."""
    if not arguments or arguments[0] in commands:
        return list(arguments)
    for place, word in enumerate(arguments):
        if word in VERBS:
            return [word, *arguments[:place], *arguments[place + 1 :]]
    return list(arguments)


def translated(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command in its own words. Raises UsageError for what cannot be had."""
    if not arguments or arguments[0] not in TAKE:
        return list(arguments)
    following = [*arguments[1:], ""]
    meant = (_meant(each, after) for each, after in zip(arguments, following, strict=True))
    return [each for each in meant if each]


def _meant(argument: str, after: str) -> str:
    """One argument, empty if it asks for nothing."""
    name, equals, value = argument.partition("=")
    if name in RENAMED:
        return RENAMED[name] + equals + value
    if name == SSL:
        mode = value.lower() if equals else "on"
        return f"--ssl-mode={SSL_MODES.get(mode, mode)}"
    if argument == HISTOGRAM and after not in ("on", "off"):
        return f"{HISTOGRAM}=on"
    if name not in ONLY:
        return argument
    allowed, why, hint = ONLY[name]
    if not equals or value != allowed:
        raise UsageError(f"{name}: {why}", hint)
    return ""
