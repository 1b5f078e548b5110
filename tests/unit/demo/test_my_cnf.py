"""Options of a private server from another server's option file."""

from pathlib import Path

import pytest

from tuibench.demo.binaries import Binary
from tuibench.demo.my_cnf import read_server_options, server_groups
from tuibench.errors import UsageError
from tuibench.model.server import Flavour

MARIADB = Binary(path="/x/mariadbd", flavour=Flavour.MARIADB, version="10.11.19")
MYSQL = Binary(path="/x/mysqld", flavour=Flavour.MYSQL, version="8.4.3")

TEXT = """
[client]
port = 3307
[mysqld]
datadir = /var/lib/mysql
innodb_buffer_pool_size = 2G   # half of it
loose_innodb_numa_interleave = ON
skip-name-resolve
log_bin = /var/log/mysql/binlog
socket = /run/mysqld/mysqld.sock
[mariadb]
query_cache_type = 0
[mysqld-8.4]
innodb_redo_log_capacity = 1G
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "my.cnf"
    path.write_text(TEXT)
    return str(path)


def test_the_servers_own_groups_without_places(file: str) -> None:
    found = read_server_options(file, MARIADB)
    common = (
        "--innodb-buffer-pool-size=2G",
        "--loose-innodb-numa-interleave=ON",
        "--skip-name-resolve",
        "--log-bin=binlog",
    )
    assert found.options == (*common, "--query-cache-type=0")
    assert found.left_out == ("datadir", "socket")
    assert read_server_options(file, MYSQL).options == (*common, "--innodb-redo-log-capacity=1G")


def test_groups() -> None:
    assert server_groups(MYSQL) == {"mysqld", "server", "mysqld-8.4"}
    assert {"mariadb", "mariadb-10.11", "mariadbd", "client-server"} <= server_groups(MARIADB)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the option file .*/none\.cnf: No such file"):
        read_server_options(str(tmp_path / "none.cnf"), MYSQL)
