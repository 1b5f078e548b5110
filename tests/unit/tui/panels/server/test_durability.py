"""What the screen says of durability and of its costs."""

import msgspec

from tests.tui.support import script
from tests.unit.tui.views import role_of, text
from tuibench.model.experiments.effect import CommitCosts
from tuibench.tui.panels.server.durability import durability_panel
from tuibench.tui.view import View, initial_view, next_view


def test_durable_is_said_in_words() -> None:
    assert text(durability_panel(without_costs(60), 118, 2)) == (
        " DURABILITY  flush_log   1  log flushed to disk at every commit: no commit is lost\n"
        " ● DURABLE   sync_binlog 1  binlog flushed to disk at every commit: no event is lost"
    )


def without_costs(seconds: int = script.LENGTH) -> View:
    return initial_view(msgspec.structs.replace(script.hello(seconds), costs=()))


def test_the_cost_of_a_commit_is_shown_beside_the_value() -> None:
    rows = text(durability_panel(initial_view(script.hello(60)), 118, 2)).splitlines()
    assert rows[0].endswith("no commit is lost      1.04 fsyncs/trx, 6.09 KiB redo")
    assert rows[1].endswith("0.97 syncs/trx, 2.83 KiB binlog")


def test_a_changed_value_is_set_beside_what_it_was() -> None:
    rows = text(durability_panel(initial_view(script.hello()), 118, 2)).splitlines()
    assert rows[0].endswith(
        "about 1 s of commits lost in any crash                 0.003 fsyncs/trx (at 1: 1.04)"
    )
    assert rows[1].endswith("0 syncs/trx (at 1: 0.97)")


def test_an_uncounted_cost_takes_no_space() -> None:
    bare = tuple(msgspec.structs.replace(cost, binlog_syncs=None) for cost in script.COSTS)
    view = initial_view(msgspec.structs.replace(script.hello(60), costs=bare))
    assert "syncs/trx" not in text(durability_panel(view, 118, 2)).splitlines()[1]
    assert "/trx" not in text(durability_panel(view, 78, 2))


def test_costs_as_they_come() -> None:
    view = next_view(without_costs(), CommitCosts(script.COSTS))
    assert view.costs == script.COSTS


def test_at_risk_looks_different_and_says_what_was_before() -> None:
    lines = durability_panel(without_costs(), 118, 2)
    assert text(lines).splitlines() == [
        " DURABILITY  flush_log   0 was 1  log flushed once a second: about 1 s of commits lost in any crash",
        " ▲ AT RISK   sync_binlog 0 was 1  binlog left to the OS: its latest events lost if the host crashes",
    ]
    assert role_of(lines, "AT RISK") == "alarm"


def test_with_little_room_the_consequence_stays() -> None:
    assert (
        text(durability_panel(initial_view(script.hello()), 78, 2))
        .splitlines()[0]
        .endswith("0 was 1  about 1 s of commits lost in any crash")
    )


def test_settings_without_any_value_are_not_called_durable() -> None:
    view = initial_view(script.hello())
    unknown = tuple(
        msgspec.structs.replace(setting, value="", original="", at_risk=False)
        for setting in view.status.settings
    )
    view = next_view(view, msgspec.structs.replace(view.status, settings=unknown))
    assert view.durability == ()
    shown = text(durability_panel(view, 78, 2))
    assert "DURABLE" not in shown
    assert "– unknown" in shown
    assert "– unknown to this server" in shown


def test_unknown_settings_are_not_called_durable() -> None:
    status = msgspec.structs.replace(script.status(), settings=())
    lines = durability_panel(initial_view(script.hello(10, status)), 118, 2)
    assert "– unknown" in text(lines)
    assert "– unknown to this server" in text(lines)
    assert "DURABLE" not in text(lines)
