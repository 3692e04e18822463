"""Tables that commands print."""

import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

WIDTH = 160  # at most, and where no terminal says otherwise


def titled(*titles: str) -> Table:
    """A table without rows; long cells go on in the next line."""
    return Table(*(Column(title, overflow="fold") for title in titles), box=SIMPLE_HEAD)


def show(table: Table) -> None:
    """Print a table."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, highlight=False)
    console.print(table, width=WIDTH)
