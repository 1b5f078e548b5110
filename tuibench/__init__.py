"""tuibench: drive an OLTP load into MySQL or MariaDB, watch it, and steer it live."""

__version__ = "0.1.0"
