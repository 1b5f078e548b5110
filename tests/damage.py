"""Slow logs, general logs and option files with damage anywhere, to what reads them.

Nothing may be raised but an error of ours with its place; what is read of a log makes a profile that compiles
and plays. The unit tests of both readers have a short version.

By hand for an hour: python -m tests.damage logs --seconds 3600
"""

import argparse
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.unit.mysql.test_option_files import check_file, damaged_file
from tests.unit.workload.test_query_log import check_log, damaged

EXAMPLES = 2000
"""Inputs between two looks at the clock."""


def _many(strategy: st.SearchStrategy[str], check: Callable[[str], None], number: int) -> None:
    """Hypothesis shows the smallest input that fails; each number has inputs of its own."""
    several = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(several(given(strategy)(check)))()


KINDS: dict[str, tuple[st.SearchStrategy[str], Callable[[str], None]]] = {
    "logs": (damaged() | st.text(), check_log),
    "option-files": (damaged_file(), check_file),
}


def faults(kind: str, seconds: float, first: int) -> int:
    """The number of rounds that found a fault, of as many as there is time for."""
    begun, done, found = time.monotonic(), 0, 0
    while (elapsed := time.monotonic() - begun) < seconds:
        print(f"{elapsed:.0f} s: {done * EXAMPLES:,} {kind}, {found} faults", flush=True)
        try:
            _many(*KINDS[kind], first + done)
        except Exception:
            found += 1
            print(f"round {first + done}: {traceback.format_exc()}", flush=True)
        done += 1
    print(f"{elapsed:.0f} s: {done * EXAMPLES:,} {kind}, {found} faults", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.damage", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--first", type=int, default=0, help="number of the first round [0]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="damage-") as folder:
        os.chdir(folder)
        os.environ["MYSQL_TEST_LOGIN_FILE"] = str(Path(folder) / "no-login.cnf")
        raise SystemExit(1 if faults(options.kind, options.seconds, options.first) else 0)


if __name__ == "__main__":
    main()
