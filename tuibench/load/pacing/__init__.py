"""Pacing of transactions: arrival schedule, work queue, think times, network delay, timers."""
