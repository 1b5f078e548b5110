"""Record which server `mariadb` and `mysql` connect to, for option files, environments and command lines.

`python -m tests.bench.client_answers MARIADB MYSQL [COUNT]` writes `tests/data/client_answers.json`, which
the unit tests compare with tuibench. Nothing is connected: a library in front of the clients (gcc builds it)
notes the first address and refuses it.
"""

import base64
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.login_files import login_file_bytes

RECORD = Path(__file__).parents[1] / "data" / "client_answers.json"

NOTE_ADDRESS = r"""
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <netdb.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(const char *host, const char *port) {
  FILE *out = fopen(getenv("NOTED_ADDRESS"), "a");
  if (out) { fprintf(out, "%s%s%s\n", host, port ? " " : "", port ? port : ""); fclose(out); }
}
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
  note(host ? host : "", port ? port : "0");
  return EAI_NONAME;
}
int connect(int socket, const struct sockaddr *address, socklen_t length) {
  if (address->sa_family == AF_UNIX && !strstr(((struct sockaddr_un *)address)->sun_path, "nscd"))
    note(((struct sockaddr_un *)address)->sun_path, NULL);
  errno = ECONNREFUSED;
  return -1;
}
"""

KEYS: dict[str, Callable[[random.Random], str]] = {
    "host": lambda draw: draw.choice(["db1", "db2", "localhost", "127.0.0.1", "::1", "", "'db3'", '"db4"#c']),
    "port": lambda draw: draw.choice(["3307", "3308", "0", "3306"]),
    "socket": lambda draw: draw.choice(["/srv/a.sock", "/srv/b.sock", '"/srv/c d.sock"', r"/srv\se.sock"]),
    "protocol": lambda draw: draw.choice(["tcp", "TCP", "socket", "T", "sock"]),
    "user": lambda draw: draw.choice(["ann", "bob", '"c#d"', "'e f'", r"g\\h", "i;j"]),
    "ssl-mode": lambda draw: draw.choice(["DISABLED", "REQUIRED", "VERIFY_CA", "PREFERRED", "required"]),
    "ssl": lambda draw: draw.choice(["0", "1", "ON", "off"]),
    "password": lambda draw: draw.choice(["x", "'y'", ""]),
    "default-character-set": lambda draw: "utf8mb4",
    "prompt": lambda draw: "p",
}
WEIGHTS = (8, 8, 6, 3, 6, 1, 1, 1, 1, 1)
GROUPS = ("client",) * 6 + (
    "mysql",
    "client-server",
    "client-mariadb",
    "mariadb-client",
    "CLIENT",
    "mysqld",
    "client_eu",
    "mysql_eu",
    "mysqldump",
)
SPELLINGS = ("", "", "", "", "loose-", "loose_", "PREFIX")
PREFIXES = {"host": "ho", "port": "por", "socket": "so", "user": "us", "password": "pass", "protocol": "prot"}


def draw_file(draw: random.Random, most: int = 3) -> str:
    """The text of an option file."""
    lines = draw.choices(["# a comment", "", "; another"], k=draw.randint(0, 1))
    for _ in range(draw.randint(1, most)):
        lines.append(f"[{draw.choice(GROUPS)}]")
        for key in draw.choices(list(KEYS), WEIGHTS, k=draw.randint(0, 3)):
            spelling = draw.choice(SPELLINGS)
            name = PREFIXES.get(key, key) if spelling == "PREFIX" else spelling + key
            name = name.replace("-", "_") if draw.random() < 0.1 else name
            sign = draw.choice(["=", " = ", "\t="])
            lines.append(
                f"{draw.choice(['', ' '])}{name}{sign}{KEYS[key](draw)}{draw.choice(['', '', ' # c', ' '])}"
            )
    return "\n".join(lines) + "\n"


def draw_case(draw: random.Random) -> dict[str, Any]:
    """An option file, of the user or the only one, sometimes one more; variables; arguments."""
    case: dict[str, Any] = {"file": draw_file(draw), "only": draw.random() < 0.6, "env": {}, "args": []}
    if not case["only"] and draw.random() < 0.5:
        case["extra"] = draw_file(draw, 2)
    if draw.random() < 0.2:
        case["included"] = draw_file(draw, 1)
    if draw.random() < 0.2:
        case["suffix"] = "_eu"
    if draw.random() < 0.15:
        user, host = draw.choice(["lee", "kim"]), draw.choice(["db7", "localhost"])
        text = f'[{draw.choice(["client", "prod"])}]\nuser = "{user}"\nhost = "{host}"\n'
        case["login"] = base64.b64encode(login_file_bytes(text)).decode()
    variables: dict[str, tuple[str, ...]] = {
        "MYSQL_HOST": ("db8", "localhost"),
        "MYSQL_TCP_PORT": ("3333",),
        "MYSQL_UNIX_PORT": ("/srv/env.sock",),
    }
    for name, values in variables.items():
        if draw.random() < 0.12:
            case["env"][name] = draw.choice(values)
    options: dict[str, tuple[str, ...]] = {
        "--host": ("db5", "localhost", "127.0.0.1"),
        "--port": ("3309", "3306"),
        "--socket": ("/srv/x.sock",),
        "--user": ("zoe",),
        "--protocol": ("tcp", "socket", "TCP"),
    }
    for option, values in options.items():
        if draw.random() < 0.15:
            case["args"].append(f"{option}={draw.choice(values)}")
    return case


def write_files(case: dict[str, Any], folder: Path) -> tuple[list[str], dict[str, str]]:
    """Write a case's files to the folder; the arguments and variables that name them."""
    words, environment = [], {**case["env"], "HOME": str(folder)}
    main = folder / ("main.cnf" if case["only"] else ".my.cnf")
    text = case["file"]
    if "included" in case:
        (folder / "included.cnf").write_text(case["included"])
        text = f"!include {folder}/included.cnf\n{text}"
    main.write_text(text)
    if case["only"]:
        words.append(f"--defaults-file={main}")
    if "extra" in case:
        (folder / "extra.cnf").write_text(case["extra"])
        words.append(f"--defaults-extra-file={folder}/extra.cnf")
    if "suffix" in case:
        words.append(f"--defaults-group-suffix={case['suffix']}")
    login = folder / "login.cnf"
    if "login" in case:
        login.write_bytes(base64.b64decode(case["login"]))
        login.chmod(0o600)
    environment["MYSQL_TEST_LOGIN_FILE"] = str(login)
    return words, environment


def print_defaults(client: str, words: list[str], environment: dict[str, str]) -> list[str]:
    """The options that a client takes from its files, in their order."""
    found = subprocess.run(
        [client, *words, "--print-defaults"],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.partition("arguments:\n")[2].rstrip("\n").removesuffix(" ").split(" --")


def answer(client: str, library: Path, case: dict[str, Any]) -> dict[str, str] | None:
    """Where the client connects, and as whom; None if it refuses the case, which is not recorded then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words, environment = write_files(case, folder)
        noted = folder / "noted"
        subprocess.run(
            [client, *words, *case["args"], "--execute=SELECT 1"],
            env={
                "PATH": os.environ["PATH"],
                "LD_PRELOAD": str(library),
                "NOTED_ADDRESS": str(noted),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if not noted.exists():
            return None
        first = noted.read_text().splitlines()[0]
        host, _, port = first.rpartition(" ")
        where = f"{host}:{port}" if host and port.isdigit() else first.replace("/var/run/", "/run/")
        given = [each.lstrip("-") for each in (*print_defaults(client, words, environment), *case["args"])]
        pairs = [each.removeprefix("loose-").removeprefix("loose_").partition("=") for each in given]
        user = [value for name, _, value in pairs if name in ("user", "us")]
        modes = [value for name, _, value in pairs if name in ("ssl-mode", "ssl_mode")]
        return {"where": where, "user": user[-1] if user else "", "ssl_mode": modes[-1] if modes else ""}


def cases_with_answers(clients: dict[str, str], count: int, seed: int) -> list[dict[str, Any]]:
    """Random cases that no client refuses, with their answers; `clients` are the programs by name."""
    draw = random.Random(seed)
    cases: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "note_address.so"
        source = library.with_suffix(".c")
        source.write_text(NOTE_ADDRESS)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        while len(cases) < count:
            case = draw_case(draw)
            answers = {name: answer(client, library, case) for name, client in clients.items()}
            if all(answers.values()):
                cases.append({**case, **answers})
    return cases


def main() -> None:
    clients = dict(zip(("mariadb", "mysql"), sys.argv[1:3], strict=True))
    cases = cases_with_answers(clients, int(sys.argv[3]) if len(sys.argv) > 3 else 300, seed=55)
    RECORD.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
