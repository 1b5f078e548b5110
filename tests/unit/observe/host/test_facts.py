"""What a host is, read from the files of hosts that are not this one."""

import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tuibench.observe.host.facts import disk_facts, host_facts

CPUINFO = "processor\t: 0\nmodel name\t: AMD  EPYC 7763\nflags\t\t: fpu sse hypervisor\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_host_says_what_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("container", raising=False)
    put(
        root,
        {
            "etc/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "proc/cpuinfo": CPUINFO,
            "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/memory.max": "1048576\n",
            "proc/1/cgroup": "0::/kubepods/burstable/pod1\n",
        },
    )
    facts = host_facts(root=root)
    assert (facts.os, facts.cpu_model) == ("Debian GNU/Linux 12 (bookworm)", "AMD EPYC 7763")
    assert (facts.virtualisation, facts.container) == ("Amazon EC2", "kubepods")
    assert (facts.cpu_limit, facts.memory_limit_bytes) == (1.5, 1 << 20)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/class/dmi/id/product_name": "Standard PC (QEMU)"}, "KVM"),
        ({"sys/hypervisor/type": "xen"}, "Xen"),
        ({"proc/cpuinfo": CPUINFO}, "a hypervisor"),
        ({"proc/cpuinfo": "model name: x\n", "sys/class/dmi/id/sys_vendor": "Dell Inc."}, "none"),
        ({}, ""),
    ],
)
def test_the_hypervisor_is_named(root: Path, files: dict[str, str], name: str) -> None:
    put(root, files)
    assert host_facts(root=root).virtualisation == name


def test_without_limits_there_are_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("container", raising=False)
    put(root, {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"})
    facts = host_facts(root=root)
    assert (facts.cpu_limit, facts.memory_limit_bytes, facts.container) == (None, None, "")
    assert facts.cores > 0


def test_control_groups_of_the_first_kind(root: Path) -> None:
    put(
        root,
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "run/.containerenv": "",
        },
    )
    facts = host_facts(root=root)
    assert (facts.cpu_limit, facts.container) == (None, "podman")


MOUNTS = "1 0 253:0 / / rw - ext4 /dev/vda rw\n2 1 259:3 / {folder} rw - xfs /dev/nvme0n1p1 rw\n"


@pytest.mark.parametrize(
    ("disk", "turns", "kind"),
    [
        ("nvme0n1", "0", "NVMe SSD"),
        ("sda", "0", "SSD"),
        ("sdb", "1", "HDD"),
        ("vdb", "1", "virtual disk"),
        ("dm-0", "", ""),
    ],
)
def test_the_disk_below_a_folder(root: Path, disk: str, turns: str, kind: str) -> None:
    data = root / "data"
    data.mkdir()
    put(
        root,
        {
            "proc/self/mountinfo": MOUNTS.format(folder=data),
            f"sys/devices/{disk}/queue/rotational": turns,
            f"sys/devices/{disk}/{disk}p1/partition": "1",
        },
    )
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/259:3").symlink_to(root / f"sys/devices/{disk}/{disk}p1")
    facts = disk_facts(str(data), root)
    assert facts is not None
    assert (facts.mount, facts.file_system, facts.device) == (str(data), "xfs", f"{disk}p1")
    assert facts.kind == kind
    assert facts.total_bytes


@pytest.mark.parametrize(
    ("file_system", "kind"), [("tmpfs", "memory"), ("nfs4", "network"), ("overlay", "overlay")]
)
def test_a_file_system_without_a_disk(root: Path, file_system: str, kind: str) -> None:
    put(root, {"proc/self/mountinfo": f"1 0 0:5 / / rw - {file_system} none rw\n"})
    facts = disk_facts("/", root)
    assert facts is not None
    assert (facts.device, facts.kind) == ("", kind)


def test_a_mac_lists_its_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"/": "apfs", "/dev": "devfs"}
    mounts = [SimpleNamespace(mountpoint=mount, fstype=kind) for mount, kind in listed.items()]
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)
    facts = disk_facts("/")
    assert facts is not None
    assert (facts.mount, facts.file_system, facts.device, facts.kind) == ("/", "apfs", "", "")
    assert facts.total_bytes


def test_a_folder_that_cannot_be_seen(root: Path) -> None:
    assert disk_facts("", root) is None
    assert disk_facts("/nowhere", root) is None
