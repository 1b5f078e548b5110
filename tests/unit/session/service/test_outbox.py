"""What a slow viewer misses, and what it never does."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import EVENT, sample, status, summary
from tuibench.model.event import Event
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import CommandReply, SampleGap, SessionEnded, SessionMessage, Status
from tuibench.session.service.viewers import Outbox, encode_line

MOST = 3
ENDED = SessionEnded(summary=summary(), text="", run_directory="/r")
KINDS = st.sampled_from(["sample", "event", "status", "answer", "take"])


def made(kind: str, number: int) -> SessionMessage:
    match kind:
        case "sample":
            return sample(number)
        case "event":
            return msgspec.structs.replace(EVENT, text=str(number))
        case "status":
            return status(threads=number)
        case _:
            return CommandReply(id=number, ok=True, text="")


def put(outbox: Outbox, message: SessionMessage) -> None:
    outbox.put(message, encode_line(message))


def taken(outbox: Outbox) -> list[SessionMessage]:
    lines = iter(outbox.next_line, None)
    return [msgspec.json.decode(line, type=SessionMessage) for line in lines if line is not None]


@given(st.lists(KINDS, max_size=60))
def test_only_samples_and_old_states_are_dropped_and_every_dropped_sample_is_reported(
    kinds: list[str],
) -> None:
    outbox = Outbox(most_samples=MOST)
    given_: list[SessionMessage] = []
    got: list[SessionMessage] = []
    for number, kind in enumerate(kinds):
        if kind == "take":
            line = outbox.next_line()
            got += [msgspec.json.decode(line, type=SessionMessage)] if line else []
        else:
            given_.append(made(kind, number))
            put(outbox, given_[-1])
    got += taken(outbox)
    kept = (Event, CommandReply)
    assert [each for each in got if isinstance(each, kept)] == [
        each for each in given_ if isinstance(each, kept)
    ]
    missed = sum(each.samples for each in got if isinstance(each, SampleGap))
    samples = [each for each in got if isinstance(each, Sample)]
    assert len(samples) + missed == sum(isinstance(each, Sample) for each in given_)
    assert [each for each in given_ if each in got] == [
        each for each in got if not isinstance(each, SampleGap)
    ]
    states = [each for each in given_ if isinstance(each, Status)]
    assert [each for each in got if isinstance(each, Status)][-1:] == states[-1:]
    assert len(outbox) == 0
    assert not outbox.is_overfull


def test_the_oldest_samples_are_dropped_and_the_gap_is_sent_before_the_rest() -> None:
    outbox = Outbox(most_samples=2)
    for message in (sample(1), EVENT, sample(2), sample(3), sample(4), ENDED):
        put(outbox, message)
    assert taken(outbox) == [SampleGap(samples=2), EVENT, sample(3), sample(4), ENDED]


def test_a_viewer_that_never_reads_is_overfull_by_what_cannot_be_left_out() -> None:
    outbox = Outbox(most_samples=2, most_bytes=10_000)
    for number in range(1000):
        put(outbox, sample(number))
        put(outbox, status(threads=number))
    states = [outbox.is_overfull]
    for _ in range(100):
        put(outbox, EVENT)
    states.append(outbox.is_overfull)
    taken(outbox)
    assert [*states, outbox.is_overfull] == [False, True, False]
