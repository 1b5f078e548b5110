"""A server that looks like production is changed after a yes only, and asks once."""

from pathlib import Path

import pytest

from tests.examples import SERVER
from tests.fakes import FakeClock
from tuibench.session.control.production_guard import ProductionGuard
from tuibench.tuning.change.production_consent import ProductionConsent, ProductionError

SIGNS = ("2 replicas attached",)


def test_without_signs_of_production_no_confirmation_is_required(tmp_path: Path) -> None:
    ProductionGuard(SERVER, (), FakeClock(), ProductionConsent(tmp_path / "s")).require_confirmation()


def test_with_signs_it_refuses_until_yes_and_remembers(tmp_path: Path) -> None:
    consent = ProductionConsent(tmp_path / "s")
    caution = ProductionGuard(SERVER, SIGNS, FakeClock(), consent)
    with pytest.raises(ProductionError, match="2 replicas attached"):
        caution.require_confirmation()
    assert "may be changed now" in caution.confirm()
    caution.require_confirmation()
    assert caution.signs == ()
    assert ProductionGuard(SERVER, SIGNS, FakeClock(), consent).signs == ()


def test_a_second_yes_is_no_news(tmp_path: Path) -> None:
    caution = ProductionGuard(SERVER, (), FakeClock(), ProductionConsent(tmp_path / "s"))
    assert caution.confirm() == "changes of this server are already allowed"
    assert not (tmp_path / "s").exists()
