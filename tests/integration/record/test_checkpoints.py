"""Full reports on the way, beside sysbench's: the same words in the same order, figures apart."""

import re
import shutil

import pytest

from tests.integration.load.tables.test_sysbench_interop import sysbench
from tests.integration.support.commands import tuibench
from tuibench.servers.server import PrivateServer

pytestmark = [
    pytest.mark.sysbench,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="no sysbench program here"),
]

OPTIONS = (
    "--tables=2",
    "--table-size=500",
    "--threads=1",
    "--time=3",
    "--report-checkpoints=2,1",
    "--report-interval=0",
)
TRANSACTIONS = re.compile(r"^ +transactions: +(\d+)", re.MULTILINE)


def masked(text: str) -> str:
    """The reports, without sysbench's greeting, figures and the padding that hangs on their length."""
    return re.sub(r" *\d+(\.\d+)?(?!th| s|s \]) *", " #", text[text.index("[ 1s ]") :])


async def test_checkpoints_are_sysbenchs(any_tables: PrivateServer) -> None:
    theirs = await sysbench(any_tables.target, "oltp_point_select", "run", *OPTIONS)
    ours = tuibench("run", "oltp_point_select", *OPTIONS, target=any_tables.target)
    assert ours.code == 0, ours.err
    assert masked(ours.out) == masked(theirs)
    assert min(map(int, TRANSACTIONS.findall(ours.out))) > 0
