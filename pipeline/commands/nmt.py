"""The command `nmt`: builds systems, translates with them, and looks inside them."""

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from .. import commands
from ..common.files import DataError
from ..console import cli

BUILD, TRANSLATE, INSPECT = "Build", "Translate", "Look inside"
COMMANDS = {  # name -> module, function, group in `nmt --help`, and line there
    "new-corpus": ("new_corpus", "new_corpus", BUILD, "Add a corpus of your own."),
    "find-corpus": ("find_corpus", "find_corpus", BUILD, "List the corpora of OPUS in two languages."),
    "fine-tune": ("fine_tune", "fine_tune", BUILD, "Train a packaged system further, on text of your own."),
    "import": ("import_model", "import_model", BUILD, "Make a package of a public model of OPUS-MT."),
    "check": ("show", "check", BUILD, "Name every fault of params.yaml, configs/ and corpora/."),
    "clean": ("clean", "clean", BUILD, "Show what each rule of cleaning drops from a corpus."),
    "params": ("show", "show_params", BUILD, "Show what a system gets from params.yaml, configs/ and corpora/."),
    "repro": ("repro", "repro", BUILD, "Build every system that params.yaml chooses."),
    "verify": ("verify", "verify", BUILD, "Compare the scores of a build with those that are expected."),
    "experiments": ("experiments", "experiments", BUILD, "Show DVC's experiments: what was varied, and scores."),
    "list": ("show", "list_all", BUILD, "List corpora, vocabularies, models, sizes and built systems."),
    "translate": ("translate", "translate", TRANSLATE, "Translate a sentence, a file or standard input."),
    "serve": ("serve", "serve", TRANSLATE, "Serve packaged systems over HTTP, with a page to try them."),
    "export": ("export", "export", TRANSLATE, "Write a Transformer as a CTranslate2 model."),
    "attention": ("attention", "attention", INSPECT, "Translate a sentence and draw the attention weights."),
}
EXTRAS = {"serve": "serve"}  # of the wheel, where it is not `build`


class LazyCommand(TyperCommand):
    """A command whose module is imported when its arguments are read.

    The modules import torch, DVC or FastAPI: seconds, which `nmt --help` need not wait for.
    """

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the arguments by the function's own signature."""
        return load(self.name or "").make_context(info_name, args, parent=parent, **extra)


def load(name: str) -> Any:
    """The command of a name.

    Raises: DataError if a package is missing that only an extra of the wheel installs.
    """
    module_name, function, *_ = COMMANDS[name]
    try:
        module = import_module(f"{commands.__name__}.{module_name}")  # the wheel has another name for the package
    except ModuleNotFoundError as error:
        raise DataError(
            f"nmt {name}: needs the package {error.name}, which is not installed; "
            f"expected nmt-pipeline[{EXTRAS.get(name, 'build')}]"
        ) from error
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name)(getattr(module, function))
    return typer.main.get_command(alone)


ABOUT = "Build translation systems, translate with them, and look inside them."
root = typer.Typer(help=ABOUT, no_args_is_help=True, pretty_exceptions_enable=False)
for name, (*_, panel, text) in COMMANDS.items():
    root.command(name, cls=LazyCommand, help=text, rich_help_panel=panel)(lambda: None)


def app() -> None:
    """Run the command line: a user's mistake prints one message, a bug a traceback, as in stages."""
    cli.call(run)


def run() -> None:
    """Run the command that is asked for, unless standard output is closed."""
    if sys.stdout is None:
        raise DataError("standard output: is closed; expected a place for what the command prints")
    root(prog_name="nmt")


if __name__ == "__main__":
    app()
