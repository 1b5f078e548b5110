"""Passwords from a command: run once for many, remembered for seconds, and never part of an error."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.integration.support.processes import gone, until
from tuibench.errors import ServerUnavailableError
from tuibench.model.target import Target
from tuibench.mysql.login.passwords import PasswordCache, password_cache, run_password_command


def counting(runs: Path) -> Target:
    """A command that prints a new password each time, and leaves a line for each run."""
    return Target(password_command=f"echo x >> {runs}; echo secret$(wc -l < {runs})")


async def test_a_password_that_is_given_needs_no_command() -> None:
    assert await PasswordCache().of(Target(password="given")) == "given"


async def test_a_thousand_logins_run_the_command_once(tmp_path: Path) -> None:
    runs, known = tmp_path / "runs", PasswordCache()
    answers = await asyncio.gather(*(known.of(counting(runs)) for _ in range(1000)))
    assert set(answers) == {"secret1"}
    assert await known.of(counting(runs)) == "secret1"
    assert runs.read_text() == "x\n"


async def test_a_password_grows_old(tmp_path: Path) -> None:
    known = PasswordCache(good_for_seconds=0)
    target = counting(tmp_path / "runs")
    assert [await known.of(target), await known.of(target)] == ["secret1", "secret2"]


async def test_the_password_command_runs_again_after_a_refusal_of_an_old_password(tmp_path: Path) -> None:
    known, target = PasswordCache(), counting(tmp_path / "runs")
    before = time.monotonic()
    first = await known.of(target)
    assert not known.forget(target, first, since=before)
    second = await known.of(target)
    assert known.forget(target, second, since=time.monotonic())
    third = await known.of(target)
    assert [first, second, third] == ["secret1", "secret2", "secret3"]
    assert known.forget(target, second, since=before), "another login has fetched a new one"
    assert await known.of(target) == third
    assert not known.forget(Target(password="given"), "given", since=time.monotonic())


async def test_every_loop_has_its_own() -> None:
    assert password_cache() is password_cache()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo topsecret; echo no access >&2; exit 3", r"ended with 3: no access"),
        ("echo topsecret; exit 4", r"ended with 4$"),
        ("echo topsecret; kill -9 $$", "was ended by signal 9"),
        ("true", "prints nothing"),
        ("echo topsecret; echo topsecret", "more than one line"),
        ("printf '\\377topsecret'", "not print text"),
    ],
)
async def test_a_command_that_fails_is_one_line_without_what_it_printed(command: str, words: str) -> None:
    with pytest.raises(ServerUnavailableError) as error:
        await run_password_command(command)
    assert "\n" not in str(error.value)
    assert "topsecret" not in str(error.value)
    assert error.value.hint.startswith("run it manually")
    with pytest.raises(ServerUnavailableError, match=words):
        raise ServerUnavailableError(error.value.message)


async def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    for patience in (0.5, 2, 8, 32):  # A busy machine may not even have begun when the time is up.
        with pytest.raises(ServerUnavailableError, match="longer than"):
            await run_password_command(f"sleep 1000 & echo $! > {file}; wait", longest_seconds=patience)
        if file.exists() and (child := file.read_text().strip()):
            break
    assert until(lambda: gone(int(child)))


async def test_the_end_of_the_line_is_no_part_of_the_password() -> None:
    assert await run_password_command("printf 'a b \\r\\n'") == "a b "
