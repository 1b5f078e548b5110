"""`python -m tests.bench.command_lines`: what becomes of published command lines of other tools.

Each line of `tests/unit/cli/published_command_lines.py` is run against a server that is not there. Prints a
table in Markdown: accepted, with what is said about it, or refused with the reason.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.unit.cli import published_command_lines as corpus
from tests.unit.cli.test_published_command_lines import NOBODY, words_of
from tuibench.base.errors import ExitCode

LINES = (*corpus.SYSBENCH_10, *corpus.SYSBENCH_05, *corpus.SYSBENCH_04, *corpus.MYSQLSLAP, *corpus.REFUSED)


def result_of(line: str) -> tuple[str, str]:
    """Whether a line is accepted, and what is said on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "tuibench", *words_of(line, Path(folder)), *NOBODY]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    said = [each.removeprefix("tuibench: ") for each in ended.stderr.splitlines()]
    if ended.returncode == ExitCode.USAGE_ERROR:
        return "refused", said[-1]
    assert ended.returncode in (ExitCode.SERVER_UNAVAILABLE, ExitCode.DONE), (line, ended)
    return "accepted", "; ".join(each for each in said if "cannot reach a server" not in each)


def main() -> None:
    print("| line | result | said |\n|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        for line, (result, said) in zip(LINES, pool.map(result_of, LINES), strict=True):
            print(f"| `{line}` | {result} | {said} |".replace(" ".join(NOBODY), "…"), flush=True)


if __name__ == "__main__":
    main()
