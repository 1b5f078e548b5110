"""The command `cluster`."""

import re
import shlex
import sys

import msgspec
import pytest

from tests.unit.cli.program import Program
from tuibench import __version__
from tuibench.base.errors import ExitCode, UsageError
from tuibench.cli.options import parse_profile_options
from tuibench.cli.usage_errors import HOSTS_OPTION
from tuibench.features.cluster.command import checks_text, summary_line
from tuibench.model.cluster import HostCheck
from tuibench.model.plan import part_options

# `tuibench cluster check`, with agents on this host.


AGENT = f"exec:{shlex.quote(sys.executable)} -m tuibench agent"
HERE = ("--cluster-lease=60", "--hosts-only")
GOOD = HostCheck(
    name="east",
    version="1.2.3",
    python="3.12.1",
    cores=16,
    descriptors=1_048_576,
    clock_offset_ms=-3.25,
    clock_error_ms=0.3,
    round_trip_ms=0.6,
    server_ms=4.2,
)


def test_a_good_host(tuibench: Program) -> None:
    ended = tuibench("cluster", "check", "--cluster", AGENT, *HERE, "--format=json")
    assert ended.code == ExitCode.DONE, ended.err
    (host,) = msgspec.json.decode(ended.out, type=list[HostCheck])
    assert (host.version, host.problem) == (__version__, "")
    assert host.cores > 0
    assert host.round_trip_ms is not None


def test_a_failed_host_hides_no_other_and_is_reported_with_the_remedy(tuibench: Program) -> None:
    ended = tuibench("cluster", "check", "--cluster", AGENT, "--cluster", "exec:sh -c 'exit 3'", *HERE)
    assert ended.code == ExitCode.RUN_FAILED
    assert __version__ in ended.out
    assert "runs no agent: its command ended with exit code 3" in ended.out
    assert "→ try: sh -c 'exit 3' </dev/null" in ended.out
    assert "1 of 2 hosts cannot take part" in ended.err


def test_the_table() -> None:
    lost = HostCheck(name="west", problem="host west runs no agent: no route", remedy="try: ssh west")
    assert checks_text((GOOD, lost)).splitlines() == [
        "host  tuibench  Python  native  cores      files  round trip         clock  server",
        "east  1.2.3     3.12.1       –     16  1,048,576      0.6 ms  −3.2 ±0.3 ms  4.2 ms",
        "west  –         –            –      –          –           –             –       –",
        "west: host west runs no agent: no route",
        "  → try: ssh west",
    ]
    assert summary_line((GOOD, lost)) == "1 of 2 hosts cannot take part"
    assert summary_line((GOOD,)) == "1 host with 16 cores: ready"


# Options of several hosts: every command that drives no such load refuses each of them by name.


NAMES = [bound.name for bound in part_options("cluster")]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_refused_as_an_option_of_a_profile(name: str) -> None:
    assert re.fullmatch(HOSTS_OPTION, name)
    with pytest.raises(UsageError, match=f"^{name} is an option of run, live"):
        parse_profile_options([f"{name}=x"])


def test_an_option_that_begins_like_one_of_them_is_the_profiles() -> None:
    assert parse_profile_options(["--cluster-size=3"]) == {"cluster_size": "3"}
