"""What a server can say to a connection of the load, and ways to lose it."""

from tuibench.errors import ConnectionLostError, ServerUnavailableError, ServerUnreachableError, SQLError

ROLLBACK = "ROLLBACK"
DEADLOCK = SQLError(1213, "deadlock")
LOCK_WAIT = SQLError(1205, "lock wait timeout")
DUPLICATE = SQLError(1062, "duplicate entry")
LOST = ConnectionLostError(2013, "connection lost")
TOO_MANY = SQLError(1040, "too many connections")
AWAY = ServerUnreachableError("cannot reach a server at db:3306", "is it running?")
DENIED = ServerUnavailableError("the server refuses user 'ann'", "give --user")
