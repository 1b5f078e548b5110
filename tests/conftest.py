"""What every test gets: a home of its own, gone afterwards, and an environment that names no server."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

FOREIGN_VARIABLES = (
    "MYSQL_PWD",
    "MYSQL_HOST",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
)
KEPT_VARIABLES = ("TUIBENCH_TEST_MYSQLD",)
ENDING = (signal.SIGINT, signal.SIGHUP)

# A busy machine is no reason to fail. `make test` takes the same few examples each time; with
# --hypothesis-profile=explore, as in `make test-all`, there are more, and others each time.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("explore"), derandomize=True, max_examples=15)
settings.load_profile("same")


LONG_IN_AN_ID = 40


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long text stands in the id of a test with its beginning: ids are read, and chosen by hand."""
    if not isinstance(val, str | bytes) or len(val) <= LONG_IN_AN_ID:
        return None
    text = val.decode("latin-1") if isinstance(val, bytes) else val
    return text.encode("unicode_escape").decode("ascii")[: LONG_IN_AN_ID - 3] + "..."


FEWER_COLLECTIONS = 10_000
"""New objects until the garbage of the youngest is looked for; Python's own number is 700."""


def pytest_collectstart() -> None:
    """What is made now is there for the whole time: thousands of tests, a quarter of a million objects."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(FEWER_COLLECTIONS)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _bytecode() -> Iterator[None]:
    """Our programs are started some hundred times: where they may not keep their bytecode, we do.

    Compiling takes a third of a start.
    """
    if not sys.dont_write_bytecode:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tb-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    """What nohup or a shell's & makes us ignore, the programs we start would ignore, too."""
    ignored = [number for number in ENDING if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def tuibench_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty TUIBENCH_HOME below /tmp: its sockets must fit into a socket path, so tmp_path is too long."""
    for name in [name for name in os.environ if name.startswith("TUIBENCH_")]:
        if name not in KEPT_VARIABLES:
            monkeypatch.delenv(name)
    for name in FOREIGN_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    home = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
    monkeypatch.setenv("TUIBENCH_HOME", str(home))
    yield home
    shutil.rmtree(home)
