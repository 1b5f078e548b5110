"""Texts that are compared with a file: `--snapshot-update` writes the files, and a reviewer reads the diff.

A test that takes the fixture `golden` says `assert text == golden`. The file is below `__snapshots__` beside
the module, and has the name of the test.
"""

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

Golden = SnapshotAssertion


class TextFile(SingleFileSnapshotExtension):
    """The text itself, without quotes."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT
