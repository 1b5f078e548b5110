"""How many worker processes a load has, by cores and by open files."""

import resource

import msgspec
import pytest

from tuibench.load.workers.worker_count import open_files_of_worker, worker_count
from tuibench.model.plan import RunPlan

PLAN = RunPlan(profile="oltp_read_write", threads=16)


def with_threads(threads: int, workers: int | None = None) -> RunPlan:
    return msgspec.structs.replace(PLAN, threads=threads, workers=workers)


def test_one_core_is_left_to_a_server_on_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, beside, away in ((8, 7, 8), (1, 1, 1), (None, 1, 1)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert worker_count(PLAN, is_beside_server=True, is_native=False) == beside
        assert worker_count(PLAN, is_beside_server=False, is_native=False) == away
        assert worker_count(PLAN, is_beside_server=False, is_native=True) == 1
    assert worker_count(with_threads(16, workers=5), is_beside_server=True, is_native=True) == 5


@pytest.mark.parametrize(
    ("hard", "threads", "native", "asyncio"),
    [
        (20_000, 9_968, 1, 1),
        (20_000, 9_969, 2, 1),
        (1_064, 10_000, 20, 10),
        (resource.RLIM_INFINITY, 100_000, 1, 1),
        (10, 100, 1, 1),
    ],
)
def test_no_worker_opens_more_files_than_it_may(
    monkeypatch: pytest.MonkeyPatch, hard: int, threads: int, native: int, asyncio: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, hard))
    plan = with_threads(threads)
    for is_native, wanted in ((True, native), (False, asyncio)):
        found = worker_count(plan, is_beside_server=True, is_native=is_native)
        assert found == wanted
        assert hard <= 64 or open_files_of_worker(threads, found, is_native=is_native) <= hard
    assert worker_count(with_threads(threads, workers=1), is_beside_server=True, is_native=True) == 1
