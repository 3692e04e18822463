"""The command `nmt`: translate with what was built, and look inside."""

import sys

import typer

from pipeline import cli
from pipeline.commands.anatomy import anatomy
from pipeline.commands.attention import attention
from pipeline.commands.check import check
from pipeline.commands.copy_task import copy_task
from pipeline.commands.export import export
from pipeline.commands.list_all import list_all
from pipeline.commands.new_corpus import new_corpus
from pipeline.commands.repro import repro
from pipeline.commands.translate import translate
from pipeline.files import DataError

commands = typer.Typer(
    help="Translate with the systems that `dvc repro` built, and look inside them. Run it in the project's folder.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # which keeps the line breaks of docstrings
)
for command in (translate, attention, anatomy, export, check, repro):
    commands.command()(cli.to_the_end(command))
commands.command(name="copy-task")(cli.to_the_end(copy_task))
commands.command(name="list")(cli.to_the_end(list_all))
commands.command(name="new-corpus")(cli.to_the_end(new_corpus))


def app() -> None:
    """Run the command line: a user's mistake prints one message, a bug a traceback, as in stages."""
    cli.call(run)


def run() -> None:
    """Run the commands, unless standard output is closed."""
    if sys.stdout is None:
        raise DataError("standard output: is closed; expected a place for what the command prints")
    commands(prog_name="nmt")


if __name__ == "__main__":
    app()
