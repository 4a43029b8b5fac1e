"""The files of the page: its HTML, its styles, its modules, and the code and the style by which the report draws."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

PAGE = "analysis.live"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
DRAWING = ("values", "scales", "marks", "panel", "pointer")
"""The scripts of the report that draw panels, in the order in which they are joined to the module drawing.js."""
EXPORTS = "drawPanel, escaped, short, valuesOf, widen"


@dataclass(frozen=True)
class Asset:
    """A file of the page."""

    content: bytes
    kind: str

    @property
    def mark(self) -> str:
        """A text that changes with the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]


def load_assets() -> dict[str, Asset]:
    """Return every file of the page by its name."""
    folder = files(PAGE) / "page"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.count(".") == 1}
    texts["drawing.js"] = _drawing(texts["drawing.js"])
    texts["chart.css"] = _of_report("chart.css")
    return {name: Asset(text.encode(), KINDS[name.rpartition(".")[2]]) for name, text in texts.items()}


def _drawing(state: str) -> str:
    """Join the live page's own state to the report's scripts, which share their names as one script does."""
    scripts = [_of_report(f"script/{name}.js") for name in DRAWING]
    return "\n".join([state, *scripts, f"export {{ {EXPORTS} }};\n"])


def _of_report(name: str) -> str:
    return (files("analysis.report_page") / name).read_text(encoding="utf-8")
