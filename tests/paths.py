"""Where the repository's own files are, for tests that read them."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DATA = ROOT / "tests" / "data"
