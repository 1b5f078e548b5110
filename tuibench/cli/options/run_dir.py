"""`--run-dir` of commands that read recorded runs."""

from typing import Annotated

from tuibench.cli.parsing.declarations import Option

RunDir = Annotated[str, Option("--run-dir", help="The --run-dir that it was recorded in, if any.")]
