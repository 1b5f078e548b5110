"""Which logins a server that is read only lets write."""

import msgspec
import pytest

from tests import examples
from tuibench.model.server import Flavour
from tuibench.mysql.info import read_only_bypass_privileges


@pytest.mark.parametrize(
    ("flavour", "version", "above"),
    [
        (Flavour.MARIADB, "10.11.2", {"READ_ONLY ADMIN"}),
        (Flavour.MARIADB, "11.4.1", {"READ_ONLY ADMIN"}),
        (Flavour.MARIADB, "10.6.18", {"READ_ONLY ADMIN", "SUPER"}),
        (Flavour.MYSQL, "8.4.0", {"CONNECTION_ADMIN", "SUPER"}),
    ],
)
def test_super_is_above_it_on_some_servers_only(flavour: Flavour, version: str, above: set[str]) -> None:
    server = msgspec.structs.replace(examples.SERVER, flavour=flavour, version=version)
    assert set(read_only_bypass_privileges(server)) == above
