"""No byte of a disk or a card is counted twice."""

from collections.abc import Callable
from pathlib import Path

from tuibench.observe.host.totals import counted_devices, disk_totals, net_bytes


def kernel(tmp_path: Path, **hardware: bool) -> Path:
    """A folder as the kernel lists whole devices: with a `device` where there is hardware behind."""
    for name, is_hardware in hardware.items():
        (tmp_path / name / "device" if is_hardware else tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_partitions_and_volumes_are_left_to_their_disk(tmp_path: Path) -> None:
    folder = kernel(tmp_path, sda=True, nvme0n1=True, md0=False, loop0=False)
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "md0", "loop0", "dm-0"]
    assert counted_devices(names, folder) == ["sda", "nvme0n1"]


def test_bridges_are_left_to_their_card(tmp_path: Path) -> None:
    folder = kernel(tmp_path, eth0=True, docker0=False, lo=False)
    assert counted_devices(["lo", "eth0", "docker0"], folder) == ["eth0"]


def test_in_a_container_all_but_the_loopback_counts(tmp_path: Path) -> None:
    assert counted_devices(["lo", "eth0"], kernel(tmp_path, lo=False, eth0=False)) == ["eth0"]


def test_without_the_kernels_folder_all_but_the_loopback_counts(tmp_path: Path) -> None:
    assert counted_devices(["lo0", "en0", "disk0"], tmp_path / "none") == ["en0", "disk0"]


def test_this_hosts_totals_never_go_back() -> None:
    readers: tuple[Callable[[], tuple[int, ...] | None], ...] = (disk_totals, net_bytes)
    for read in readers:
        first, second = read(), read()
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert all(new >= old >= 0 for old, new in zip(first, second, strict=True))
