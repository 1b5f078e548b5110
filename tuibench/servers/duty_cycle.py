"""A limit of the CPU time of a process without a control group.

In each period, the process may use its quota on all processors together, as in the kernel's own bandwidth
control. Once it has used it up, it is stopped (SIGSTOP) until the period's end; what it used beyond it is
taken from the next one. A process that needs less is never stopped.

The supervisor of a private server does this, in a thread. A server cannot stay stopped: when its supervisor
ends for any reason, the kernel kills the server (`process.spawn`), which works on a stopped process, too.
"""

import contextlib
import os
import signal
import threading
import time

PERIOD_SECONDS = 0.05
LOOK_SECONDS = 0.005
"""How often a running process is looked at."""
MOST_DEBT = 10.0
"""What a process has used beyond its quota counts for at most so many periods."""


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process. Raises OSError if there is none."""
    # MAKE_PROCESS_CPUCLOCK of the kernel with CPUCLOCK_SCHED, as in clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


class Quota:
    """How much of the present period's CPU time is left; time and CPU time are arguments."""

    def __init__(self, cpus: float, now: float, used: float) -> None:
        self._quota = cpus * PERIOD_SECONDS
        self._left = self._quota
        self._used = used
        self.period_end = now + PERIOD_SECONDS

    def is_used_up(self, now: float, used: float) -> bool:
        """True if the process has to be stopped now, after so much CPU time in all."""
        self._left -= used - self._used
        self._used = used
        if now >= self.period_end:
            periods = 1 + int((now - self.period_end) / PERIOD_SECONDS)
            self.period_end += periods * PERIOD_SECONDS
            least = -MOST_DEBT * self._quota
            self._left = min(max(self._left, least) + periods * self._quota, self._quota)
        return self._left <= 0


class DutyCycle:
    """Limits a process until `end`, or its own end."""

    def __init__(self, pid: int, cpus: float) -> None:
        self._pid, self._cpus = pid, cpus
        self._descriptor = os.pidfd_open(pid)
        """Signals through it reach no other process, should the number be reused."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="duty cycle", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The process runs freely again."""
        self._ended.set()
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        is_stopped = False
        with contextlib.suppress(OSError):
            try:
                quota = Quota(self._cpus, time.monotonic(), cpu_seconds(self._pid))
                while not self._ended.is_set():
                    now = time.monotonic()
                    wanted = quota.is_used_up(now, cpu_seconds(self._pid))
                    if wanted is not is_stopped:
                        self._send(signal.SIGSTOP if wanted else signal.SIGCONT)
                        is_stopped = wanted
                    until_end = max(quota.period_end - time.monotonic(), 0.0)
                    self._ended.wait(until_end if is_stopped else min(LOOK_SECONDS, until_end))
            finally:
                if is_stopped:
                    self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self._descriptor, number)
