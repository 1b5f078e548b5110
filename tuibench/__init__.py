"""tuibench: OLTP load and live monitoring for MySQL and MariaDB."""

import gc

# What is imported stays: at Python's own 700 new objects, a tenth of a start goes to looking for garbage.
gc.set_threshold(50_000)

try:
    from tuibench._version import __version__
except ImportError:  # a source tree that was never built or installed
    __version__ = "0.1.0.dev0"

__all__ = ["__version__"]
