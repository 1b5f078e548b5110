"""What a slap's clients speak."""

import pytest

from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.session.slap.spec import SlapSpec
from tuibench.workload.slap.generated_sql import SlapQuery
from tuibench.workload.slap.script import SlapScript


@pytest.mark.parametrize(
    ("sql", "init_sql", "flavour", "charset"),
    [
        ("SELECT 1", "", Flavour.MARIADB, "latin1"),
        ("SELECT 1", "", Flavour.MYSQL, "utf8mb4"),
        ("SELECT 'é'", "", Flavour.MARIADB, "utf8mb4"),
        ("SELECT 1", "SET @name = 'é'", Flavour.MARIADB, "utf8mb4"),
    ],
)
def test_clients_speak_as_mysqlslaps_do_if_that_loses_nothing(
    sql: str, init_sql: str, flavour: Flavour, charset: str
) -> None:
    script = SlapScript(queries=(SlapQuery("SELECT 1"), SlapQuery(sql)))
    spec = SlapSpec(target=Target(), script=script, init_sql=init_sql)
    assert spec.charset(flavour) == charset
