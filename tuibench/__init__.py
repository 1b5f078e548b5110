"""tuibench: OLTP load and live monitoring for MySQL and MariaDB."""

import gc

# Imported objects stay alive: with Python's default threshold of 700, garbage collections take a tenth of the
# start. A process that runs for long lowers the threshold after its imports.
gc.set_threshold(1_000_000)

try:
    from tuibench._version import __version__
except ImportError:  # a source tree that was never built or installed
    __version__ = "0.1.0.dev0"

__all__ = ["__version__"]
