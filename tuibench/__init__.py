"""tuibench: OLTP load and live monitoring for MySQL and MariaDB."""

__version__ = "0.1.0"
