"""The life of a session: state, background tasks, ticks, closing steps, crash log."""
