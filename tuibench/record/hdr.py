"""Histograms in HdrHistogram's own encoding, so that other tools can read and merge what a run left."""

from hdrh.histogram import HdrHistogram

from tuibench.metrics.histogram import Histogram, highest_in

HIGHEST_US = 3_600_000_000
SIGNIFICANT_DIGITS = 3


def encoded(histogram: Histogram) -> str:
    """The compressed V2 encoding of a histogram of microseconds, in base64."""
    full = HdrHistogram(1, HIGHEST_US, SIGNIFICANT_DIGITS)
    for bucket, times in histogram.counts.items():
        full.record_value(min(highest_in(bucket), HIGHEST_US), times)
    return str(full.encode().decode())
