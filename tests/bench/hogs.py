"""Other programs on the host: processes that use half of a processor's time each."""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator

HOG_SECONDS = 0.05


def hog(parent: int) -> None:
    """Uses half of a processor's time until its parent ends."""
    while os.getppid() == parent:
        until = time.perf_counter() + HOG_SECONDS
        while time.perf_counter() < until:
            pass
        time.sleep(HOG_SECONDS)


@contextlib.contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many of them, as long as the context lasts."""
    every = [multiprocessing.Process(target=hog, args=(os.getpid(),), daemon=True) for _ in range(count)]
    for one in every:
        one.start()
    try:
        yield
    finally:
        for one in every:
            one.terminate()
