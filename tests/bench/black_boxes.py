"""`python -m tests.bench.black_boxes`: how many planted stalls are named by their black box.

Each kind is planted under a load on a private server: locks of rows, tables and the whole server, DDL behind
a reader, a user lock, a stopped process, a storm of connections, a purge that is behind, a full redo log, a
slow disk. A box is right if its conclusion is the planted cause, with the connection at the root, and stands
on the page.
"""

import argparse
import asyncio
import os
import tempfile

from tests.integration.features.blackbox.test_planted_stalls import (
    OF_THE_SERVER,
    PLANTED,
    kept,
    kept_of_a_server,
)
from tests.integration.support.stalls import stallable
from tuibench.base.document import write_text
from tuibench.base.errors import TuibenchError
from tuibench.features.blackbox.page import blocks
from tuibench.load.tables import prepare_tables
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

LEAST_SHARE = 17 / 20
KINDS = (*PLANTED, *OF_THE_SERVER)


async def is_named(server: PrivateServer, kind: str) -> bool:
    """Plant it once, and print what the box says."""
    try:
        if kind in PLANTED:
            box, found, root = await kept(server, PLANTED[kind])
            wanted = PLANTED[kind].cause
        else:
            (box, found), root, wanted = await kept_of_a_server(server, kind), 0, OF_THE_SERVER[kind]
    except (AssertionError, StopIteration, TuibenchError) as error:
        print(f"  {kind}: MISSED, {str(error).splitlines()[0] if str(error) else 'no box'}", flush=True)
        return False
    is_right = (
        found.cause is wanted and found.connection == root and found.text[1:] in write_text(blocks(box))
    )
    print(f"  {kind}: {'named' if is_right else 'MISSED'}: {found.text}", flush=True)
    return is_right


async def bench(path: str, kinds: list[str], times: int) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    named = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        os.environ["TUIBENCH_HOME"] = home
        async with await stallable(binary) as server:
            await prepare_tables(
                server.target, library.load_program("oltp_read_write", {"tables": 2, "table_size": 500})
            )
            for _ in range(times):
                for kind in kinds:
                    named += await is_named(server, kind)
    print(f"{binary}: {named} of {times * len(kinds)} black boxes name the planted cause", flush=True)
    raise SystemExit(0 if named >= LEAST_SHARE * times * len(kinds) else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.black_boxes", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--times", type=int, default=2, help="stalls of a kind [2]")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=[*KINDS])
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.kinds, options.times))


if __name__ == "__main__":
    main()
