"""Where a loss of power cannot be simulated, the refusal names what is missing."""

import os
import shutil
import sys

import pytest

from tuibench.base.errors import UsageError
from tuibench.features.crash.runner import check_possible


def test_the_refusal_names_the_programs_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "mkfs.ext4" else f"/usr/sbin/{name}")
    with pytest.raises(UsageError, match=r"missing: mkfs.ext4, the right to mount \(root\)") as raised:
        check_possible()
    assert raised.value.hint == "without --power the process is killed"


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/sbin/{name}")
    with pytest.raises(UsageError, match="missing: Linux"):
        check_possible()
