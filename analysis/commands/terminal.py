"""Text and tables for the terminal. Names and errors come from elsewhere, so none of them is read as rich's markup."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from mulex.messages import printable


def plain_text(text: str, limit: int = 200) -> Text:
    """Return text that shows square brackets as they are and contains no escape sequence."""
    return Text(printable(text, limit))


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]], **options: Any) -> Table:
    """Return a table without lines; the options are those of rich's Table."""
    table = Table(box=None, header_style="bold", pad_edge=False, **options)
    for name in head:
        table.add_column(plain_text(name))
    for row in rows:
        table.add_row(*[plain_text(cell, 2000) for cell in row])
    return table
