"""tuibench encrypts and verifies as the user's own client does for the same options, or more strictly."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.client_tls import RECORD, option_file
from tests.integration.support.certificates import Files
from tuibench.cli.server_options import ServerOptions
from tuibench.model.server import Target
from tuibench.mysql import option_files

CASES = [json.loads(line.rstrip(",")) for line in RECORD.read_text().splitlines()[1:-1]]
"""Options of TLS, with what came of them: on a server without TLS, one of an unknown authority, one by the
name of another host, and the right one.
"""
CLIENTS = tuple(name for name in CASES[0] if name != "options")
STRICTNESS = ("plain", "tls", "refused")
TRUSTED = {
    "disabled": ("plain", "plain", "plain", "plain"),
    "preferred": ("plain", "tls", "tls", "tls"),
    "required": ("refused", "tls", "tls", "tls"),
    "verify-ca": ("refused", "refused", "tls", "tls"),
    "verify-identity": ("refused", "refused", "refused", "tls"),
}
"""What comes of a mode with the certificate of the authority; tests of TLS connect with each."""
FILES = Files(Path("/ca.pem"), Path("/cert.pem"), Path("/key.pem"))


def answer(target: Target) -> tuple[str, ...]:
    """What comes of it; without a CA, the system's authorities are meant, which none of the servers has."""
    if target.ssl_mode.startswith("verify") and not target.ssl_ca:
        return ("refused",) * 4
    return TRUSTED[target.ssl_mode]


def chosen(case: dict[str, Any], folder: Path) -> tuple[Target, list[str]]:
    told: list[str] = []
    path = folder / "my.cnf"
    path.write_text(option_file(tuple(case["options"]), FILES))
    options = ServerOptions(defaults_file=str(path), host="db1", user="ann")
    return options.target(tell=told.append), told


def test_no_option_of_tls_means_less_than_to_the_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as for a client that knows the options, or nothing less than for any, or it is told."""
    monkeypatch.setattr(option_files, "GLOBAL_FILES", ())
    wrong = []
    for case in CASES:
        target, told = chosen(case, tmp_path)
        ours = answer(target)
        theirs = [tuple(case[name]) for name in CLIENTS if case[name]]
        is_same = ours in theirs
        is_stricter = all(
            all(
                STRICTNESS.index(own) >= STRICTNESS.index(other)
                for own, other in zip(ours, each, strict=True)
            )
            for each in theirs
        )
        if theirs and not (is_same or is_stricter or told):
            wrong.append((case, target.ssl_mode))
    assert wrong == []
