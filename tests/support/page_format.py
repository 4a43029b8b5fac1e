"""Formats the scripts and styles of both pages: `python -m tests.support.page_format`, or with --check only looks.

jsbeautifier and its sibling for styles need no Node. They keep line breaks, so the length of lines is checked here.
"""

import json
import sys
from pathlib import Path

import cssbeautifier
import jsbeautifier

PAGE = Path(__file__).parents[2] / "analysis" / "report_page"
LONGEST = 120
BEAUTIFIERS = {".js": jsbeautifier, ".css": cssbeautifier}


def formatted(file: Path) -> str:
    """The file's text as it should be."""
    beautifier = BEAUTIFIERS[file.suffix]
    options = beautifier.default_options()
    for name, value in json.loads((PAGE / "format.json").read_text())[file.suffix.removeprefix(".")].items():
        setattr(options, name, value)
    return str(beautifier.beautify(file.read_text(), options))


def problems(file: Path) -> list[str]:
    """What is wrong with a file, a line each."""
    text = file.read_text()
    wrong = [] if formatted(file) == text else [f"{file}: not formatted; run python -m tests.support.page_format"]
    lines = enumerate(text.splitlines(), 1)
    return wrong + [
        f"{file}:{i}: {len(line)} characters, more than {LONGEST}" for i, line in lines if len(line) > LONGEST
    ]


def page_files() -> list[Path]:
    """Every script and style of the report and of the live page."""
    folders = (PAGE, PAGE.parent / "live" / "page")
    return sorted(file for folder in folders for file in folder.rglob("*") if file.suffix in BEAUTIFIERS)


def main(arguments: list[str]) -> int:
    if "--check" not in arguments:
        for file in page_files():
            file.write_text(formatted(file))
    wrong = [line for file in page_files() for line in problems(file)]
    print("\n".join(wrong) or f"{len(page_files())} files of the pages are formatted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
