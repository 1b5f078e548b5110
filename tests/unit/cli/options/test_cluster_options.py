"""Options of several hosts: every command that drives no such load refuses each of them by name."""

import re

import pytest

from tuibench.cli.options.profile_options import parse_profile_options
from tuibench.cli.parsing.parser_errors import HOSTS_OPTION
from tuibench.errors import UsageError
from tuibench.model.plan_options import part_options

NAMES = [bound.name for bound in part_options("cluster")]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_refused_as_an_option_of_a_profile(name: str) -> None:
    assert re.fullmatch(HOSTS_OPTION, name)
    with pytest.raises(UsageError, match=f"^{name} is an option of run, live"):
        parse_profile_options([f"{name}=x"])


def test_an_option_that_begins_like_one_of_them_is_the_profiles() -> None:
    assert parse_profile_options(["--cluster-size=3"]) == {"cluster_size": "3"}
