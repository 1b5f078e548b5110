"""Generated pages of the site (pictures, JSON schemas); links to files outside docs/ become absolute."""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages, and the pictures that they show."""
    schemas = sorted((ROOT / "docs" / "schemas").glob("*.json"))
    pictures = sorted((ROOT / "screenshots").glob("*.svg"))
    for uri, text in (("json-schemas.md", schema_page(schemas)), ("pictures.md", picture_page(pictures))):
        files.append(File.generated(config, uri, content=text))
    for picture in pictures:
        files.append(File.generated(config, f"screenshots/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside docs/ lead to the repository."""
    outside = "../" * (page.file.src_uri.count("/") + 1)
    return re.sub(rf"\]\({re.escape(outside)}([^)]+)\)", rf"]({config.repo_url}/blob/main/\1)", markdown)


def schema_page(schemas: list[Path]) -> str:
    """A table of the schemas with their titles."""
    titles = {path.name: json.loads(path.read_text(encoding="utf-8")).get("title", "") for path in schemas}
    rows = [f"| [{name}](schemas/{name}) | {title} |" for name, title in titles.items()]
    return "\n".join(["# JSON schemas", "", "| schema | describes |", "|---|---|", *rows, ""])


def picture_page(pictures: list[Path]) -> str:
    """All screens at 120×36, and those that exist at 80×24 only."""
    large = {path.name.removesuffix("-120x36.svg") for path in pictures if path.name.endswith("-120x36.svg")}
    chosen = [path for path in pictures if path.name.removesuffix("-80x24.svg") not in large]
    lines = ["# Pictures", ""]
    for path in chosen:
        title = re.sub(r"-\d+x\d+$", "", path.stem).replace("-", " ").capitalize()
        lines += [f"## {title}", "", f"![{title}](screenshots/{path.name})", ""]
    return "\n".join(lines)
