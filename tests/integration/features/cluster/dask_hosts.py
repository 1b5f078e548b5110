"""A Dask scheduler and its workers as processes of their own, with TLS: hosts of a load, on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import certificates
from tests.integration.support.processes import until
from tuibench.model.cluster import ClusterPlan

needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="Dask is not installed: pip install 'tuibench[cluster]'"
)
START_SECONDS = 90.0


class Contact(msgspec.Struct):
    """Of what a scheduler writes about itself."""

    address: str


class DaskHosts:
    """`scheduler` is its process, `workers` are those of the hosts by name. All files are in `folder`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder = folder
        self._files = certificates.make(folder, "localhost", "127.0.0.1")
        self._environment = {
            **os.environ,
            "DASK_CONFIG": str(folder),
            "DASK_TEMPORARY_DIRECTORY": str(folder),
            "TUIBENCH_HOME": str(home),
        }
        self._contact = folder / "scheduler.json"
        self._running = ExitStack()
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.scheduler: subprocess.Popen[bytes]
        self.address = ""

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "--host=tls://127.0.0.1", "--port=0")
        self._wait_for(self._is_known, "scheduler")

    def start_worker(self, name: str) -> None:
        """A host; `wait_for_workers` waits until the scheduler knows it."""
        self.workers[name] = self._start("worker", "--no-nanny", "--nthreads=1", f"--name={name}")

    @property
    def options(self) -> Sequence[str]:
        """Those of a command line."""
        files = self._files
        names = {"cluster": self.address, "cluster-ca": files.ca}
        names |= {"cluster-cert": files.cert, "cluster-key": files.key, "cluster-hosts": len(self.workers)}
        return [f"--{name}={value}" for name, value in names.items()]

    def plan(self, lease_seconds: float) -> ClusterPlan:
        ca, cert, key = map(str, self._files)
        return ClusterPlan(
            places=(self.address,),
            lease_seconds=lease_seconds,
            hosts=len(self.workers),
            ca=ca,
            cert=cert,
            key=key,
        )

    def close(self) -> None:
        self._running.close()

    def _start(self, kind: str, *arguments: str) -> "subprocess.Popen[bytes]":
        files = self._files
        tls = (f"--tls-ca-file={files.ca}", f"--tls-cert={files.cert}", f"--tls-key={files.key}")
        place = f"--scheduler-file={self._contact}"
        log = self._running.enter_context((self._folder / f"{kind}.log").open("ab"))
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", kind, place, "--no-dashboard", *tls, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=self._environment,
        )
        self._running.callback(process.wait)
        self._running.callback(process.kill)
        return process

    def wait_for_workers(self) -> None:
        """A session waits for them, too, but for 30 s only."""
        log = self._folder / "worker.log"
        self._wait_for(lambda: log.read_text().count("Registered to:") == len(self.workers), "worker")

    def _is_known(self) -> bool:
        """Whether the scheduler has written its address; it may be about to."""
        try:
            self.address = msgspec.json.decode(self._contact.read_bytes(), type=Contact).address
        except (FileNotFoundError, msgspec.DecodeError):
            return False
        return True

    def _wait_for(self, condition: Callable[[], bool], kind: str) -> None:
        processes = (self.scheduler, *self.workers.values())
        until(lambda: condition() or any(each.poll() is not None for each in processes), START_SECONDS)
        assert condition(), (self._folder / f"{kind}.log").read_text()


@contextmanager
def dask_hosts(folder: Path, home: Path, *names: str) -> Iterator[DaskHosts]:
    """A scheduler with these hosts; all of them are gone afterwards."""
    hosts = DaskHosts(folder, home)
    try:
        hosts.start_scheduler()
        for name in names:
            hosts.start_worker(name)
        hosts.wait_for_workers()
        yield hosts
    finally:
        hosts.close()
