"""Options of a profile, taken from the arguments unknown to the parser."""

import re
from collections.abc import Sequence

from tuibench.cli.parsing.parser_errors import HOSTS_OPTION, WITHOUT_HOSTS, option_hint
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue

CONTEXT = {
    "help_option_names": ["--help"],
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": True,
}
"""Options unknown to the parser belong to the profile: --tables, --table-size, --point-selects, …"""


def split_profile_and_options(first: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
    """The profile's name and its options, in any order, as in sysbench.

    `first` is the parser's first positional argument: an option of the profile, if those come first.
    """
    from tuibench.workload import library

    if not first.startswith("--"):
        return first, parse_profile_options(arguments)
    words = [first, *arguments]
    for place, word in enumerate(words):
        follows_option = place > 0 and words[place - 1].startswith("--") and "=" not in words[place - 1]
        if not word.startswith("--") and (not follows_option or word in library.available_profiles()):
            return word, parse_profile_options(words[:place] + words[place + 1 :])
    raise UsageError("no profile is named", "give one, such as oltp_read_write, or your own SQL with --sql")


def parse_profile_options(arguments: Sequence[str]) -> dict[str, OptionValue]:
    """Parse the profile's options among the remaining arguments: `--name=value`, `--name value`, `--flag`."""
    options: dict[str, OptionValue] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if not argument.startswith("--"):
            raise UsageError(f"'{argument}' is not an option", option_hint(argument))
        name, equals, value = argument[2:].partition("=")
        if re.fullmatch(HOSTS_OPTION, f"--{name.replace('_', '-')}"):
            raise UsageError(f"--{name} {WITHOUT_HOSTS}", "leave it out here")
        if not equals and left and not left[0].startswith("--"):
            value = left.pop(0)
        options[name.replace("-", "_")] = value
    return options
