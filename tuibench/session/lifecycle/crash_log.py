"""Errors of tuibench itself: one line for the user, the traceback in the crash log."""

import traceback

from tuibench import files, paths


def internal_error_text(error: Exception) -> str:
    """Writes the traceback to the crash log; returns the line for the user.

    The line names the crash log, or the place in the code where the log cannot be written.
    """
    message = f"this is a bug in tuibench: {type(error).__name__}: {error}"
    try:
        file = paths.ensure_private(paths.state_dir()) / "crash.log"
        with files.private(file, "wb") as stream:
            stream.write("".join(traceback.format_exception(error)).encode(errors="replace"))
    except OSError:
        frames = traceback.extract_tb(error.__traceback__)
        return (
            f"{message} (in {frames[-1].name}, {frames[-1].filename}:{frames[-1].lineno})"
            if frames
            else message
        )
    return f"{message} (details in {file})"
