"""Plans of command lines, through the real parser."""

from typing import Any

from tuibench.cli.options import make_plan, parse_profile_options
from tuibench.cli.typer_command import parse_plan_words
from tuibench.model.plan import WATCH, RunPlan

PROFILE = "oltp_read_write"


def planned(*words: str, command: str = "run", profile: str = PROFILE) -> RunPlan:
    """The plan that the command makes of these words."""
    values, rest = parse_plan_words(command, words)
    fixed: dict[str, Any] = {"is_watch": True, "threads": 0} if command == WATCH else {}
    return make_plan(values, profile, parse_profile_options(rest), **fixed)
