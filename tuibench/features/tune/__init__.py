"""Screening: finds settings that make a server under load faster, with a verdict on each value."""
