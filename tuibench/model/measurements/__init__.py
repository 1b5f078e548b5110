"""Measured data: samples, server activity, environment, findings, operation costs, steadiness."""
