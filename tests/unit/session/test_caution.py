"""A server that looks like production is changed after a yes only, and asks once."""

from pathlib import Path

import pytest

from tests.examples import SERVER
from tests.fakes import FakeClock
from tuibench.session.caution import Caution
from tuibench.tuning.consent import Consent, ProductionError

SIGNS = ("2 replicas attached",)


def test_without_signs_nobody_asks(tmp_path: Path) -> None:
    Caution(SERVER, (), FakeClock(), Consent(tmp_path / "s")).demand_yes()


def test_with_signs_it_refuses_until_yes_and_remembers(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "s")
    caution = Caution(SERVER, SIGNS, FakeClock(), consent)
    with pytest.raises(ProductionError, match="2 replicas attached"):
        caution.demand_yes()
    assert "may be changed from now on" in caution.say_yes()
    caution.demand_yes()
    assert caution.signs == ()
    assert Caution(SERVER, SIGNS, FakeClock(), consent).signs == ()


def test_a_second_yes_is_no_news(tmp_path: Path) -> None:
    caution = Caution(SERVER, (), FakeClock(), Consent(tmp_path / "s"))
    assert caution.say_yes() == "this server may be changed already"
    assert not (tmp_path / "s").exists()
