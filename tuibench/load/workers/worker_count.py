"""Number of worker processes of a load, and the open files that each of them needs."""

import os
import resource

from tuibench.model.plan import RunPlan

FILES_OF_A_WORKER = 64
"""Open files of a worker in addition to its connections."""


def worker_count(plan: RunPlan, *, is_beside_server: bool, is_native: bool) -> int:
    """The number of processes: the plan's, else one per core, minus one for a server on the same machine.

    The native engine uses all cores from one process. More are needed if a process may not open enough files
    for all connections.
    """
    if plan.workers is not None:
        return plan.workers
    cores = os.cpu_count() or 1
    usual = 1 if is_native else max(1, cores - 1 if is_beside_server else cores)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard <= FILES_OF_A_WORKER:
        return usual
    files = plan.most_threads * files_per_connection(is_native=is_native)
    return max(usual, -(-files // (hard - FILES_OF_A_WORKER)))


def files_per_connection(*, is_native: bool) -> int:
    """The native engine works on a copy of the descriptor that the driver keeps."""
    return 2 if is_native else 1


def open_files_of_worker(connections: int, workers: int, *, is_native: bool) -> int:
    """The open files of the worker with the most of these connections."""
    most = -(-connections // max(1, workers))
    return most * files_per_connection(is_native=is_native) + FILES_OF_A_WORKER
