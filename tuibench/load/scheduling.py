"""How the system's scheduler is to treat a worker: woken for every answer, or for several at a time.

In a closed loop the next statement leaves when an answer is read. On a busy host, a worker that is woken for
each answer drives out the server's thread that was about to write another. Under Linux's batch policy
(sched(7)) that thread ends its turn first, and the worker finds several answers: fewer wake-ups, and a fifth
less processor time for each query. On a schedule, to be woken in time is worth more.
"""

import os
import sys

if sys.platform == "linux":

    def wake_for_several(wanted: bool) -> None:
        """Asks for the batch policy, or for the ordinary one; another that somebody chose is left alone.

        It is a wish: a system that forbids it costs speed, not correctness.
        """
        ordinary, batch = os.SCHED_OTHER, os.SCHED_BATCH
        try:
            if os.sched_getscheduler(0) in (ordinary, batch):
                os.sched_setscheduler(0, batch if wanted else ordinary, os.sched_param(0))
        except OSError:
            return

else:

    def wake_for_several(wanted: bool) -> None:
        """Only Linux has such a policy."""
