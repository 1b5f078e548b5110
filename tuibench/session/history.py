"""The past of a run as far as viewers that come late get to see it: bounded, and slim."""

from collections import deque
from itertools import islice

from msgspec.structs import replace

from tuibench.model.sample import Sample

MOST_SAMPLES = 3600


class History:
    """The newest samples. Only the very newest is kept whole; charts need no counters and no statements."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._samples: deque[Sample] = deque(maxlen=most)

    def add(self, sample: Sample) -> None:
        if self._samples:
            self._samples[-1] = slim(self._samples[-1])
        self._samples.append(sample)

    def newest(self, count: int) -> tuple[Sample, ...]:
        """At most so many samples, in the order they came."""
        return tuple(islice(self._samples, max(0, len(self._samples) - max(0, count)), None))


def slim(sample: Sample) -> Sample:
    """The sample without what is only looked at while it is new."""
    load = replace(sample.load, statements={}) if sample.load else None
    server = replace(sample.server, counters={}, gauges={}) if sample.server else None
    return replace(sample, load=load, server=server)
