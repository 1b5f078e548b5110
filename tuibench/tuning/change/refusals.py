"""Reasons of refused changes, by the server's error number."""

from tuibench.errors import SQLError
from tuibench.model.server import ServerInfo
from tuibench.tuning.catalogue.setting import Setting

_MANAGED = "{privilege}; a managed service has a parameter group for it"
_WORDS = {
    1045: ("this login cannot change {name}", _MANAGED),
    1193: ("{server} has no variable {name}", "choose another setting"),
    1210: ("{server} does not accept {value} for {name}: {text}", ""),
    1227: ("this login cannot change {name}", _MANAGED),
    1228: ("{name} is not a global variable", "it belongs to each connection"),
    1229: ("{name} is a global variable and was not set as one", ""),
    1231: ("{server} does not accept {value} for {name}", "{takes}"),
    1232: ("{server} does not accept {value} for {name}: wrong type", "{takes}"),
    1238: ("{name} is read-only on this server", "changing it requires a restart of the server"),
    1290: ("the server's options do not allow changing {name}", ""),
}


def explain_refusal(error: SQLError, setting: Setting, value: str, server: ServerInfo) -> SQLError:
    """The refusal of `SET GLOBAL_VARIABLE setting = value`, as a message with a hint."""
    message, hint = _WORDS.get(error.code, ("{server} refused to set {name} to {value}: {text}", ""))
    support = setting.support(server)
    needed = setting.privileges(server.flavour, server.version_tuple) or ("SUPER",)
    words = {
        "name": setting.name,
        "value": value,
        "server": f"{server.flavour} {server.version}",
        "text": error.message,
        "privilege": "it needs the privilege " + " or ".join(needed),
        "takes": f"it takes {setting.takes(support)}" if support else "",
    }
    return SQLError(error.code, f"{message.format(**words)} (error {error.code})", hint.format(**words))
