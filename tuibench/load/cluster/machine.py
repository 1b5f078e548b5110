"""Identification of this machine: the agent's hello, and whether two processes share loopback and sockets."""

import os
import platform
import resource
import socket
from pathlib import Path

from tuibench.load.cluster.messages import PROTOCOL, AgentHello
from tuibench.load.engine.native.program import module


def agent_hello(version: str) -> AgentHello:
    """The agent's hello with the properties of this host."""
    return AgentHello(
        protocol=PROTOCOL,
        version=version,
        python=platform.python_version(),
        name=socket.gethostname(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        native=_native_version(),
        namespaces=namespaces(),
    )


def namespaces() -> tuple[str, ...]:
    """The boot of the machine, and the namespaces of network and mounts; empty where the system has none.

    Containers of one machine share its boot, but neither loopback addresses nor sockets.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return (boot, *(os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "mnt")))
    except OSError:
        return ()


def is_same_machine(host: AgentHello) -> bool:
    """Whether the host shares loopback addresses and sockets with this one."""
    here = namespaces()
    return bool(here) and here == host.namespaces


def _native_version() -> str:
    native = module()
    return str(getattr(native, "__version__", "") or "installed") if native is not None else ""
