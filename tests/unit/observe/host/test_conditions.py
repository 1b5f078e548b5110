"""What this host tells of itself, and that nothing breaks where it does not."""

from pathlib import Path

from tuibench.observe.host.facts import host_conditions


def test_what_the_kernel_says(tmp_path: Path) -> None:
    source = tmp_path / "devices/system/clocksource/clocksource0/current_clocksource"
    source.parent.mkdir(parents=True)
    source.write_text("hpet\n")
    for cpu, governor in enumerate(("powersave", "performance", "powersave")):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    found = host_conditions(str(tmp_path), tmp_path)
    assert (found.clocksource, found.governors) == ("hpet", ("performance", "powersave"))
    assert found.disk_free_bytes is not None
    assert found.disk_total_bytes is not None
    assert 0 <= found.disk_free_bytes <= found.disk_total_bytes
    assert found.files_soft is None or found.files_soft > 0


def test_a_host_that_tells_little(tmp_path: Path) -> None:
    found = host_conditions(str(tmp_path / "missing"), tmp_path / "nothing")
    assert (found.clocksource, found.governors, found.disk_free_bytes) == ("", (), None)
    assert host_conditions("").disk_free_bytes is None
