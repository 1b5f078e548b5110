"""tuibench: OLTP load and live monitoring for MySQL and MariaDB."""

try:
    from tuibench._version import __version__
except ImportError:  # a source tree that was never built or installed
    __version__ = "0.1.0.dev0"

__all__ = ["__version__"]
