"""The command `nmt`: builds systems, translates with them, and looks inside them."""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from .. import commands
from ..common.files import DataError
from ..console import cli


class Command(NamedTuple):
    """A command: its function, its group in `nmt --help`, and its line there."""

    module: str
    function: str
    panel: str
    text: str


BUILD, TRANSLATE, INSPECT = "Build", "Translate", "Look inside"
COMMANDS = {
    "new-corpus": Command("new_corpus", "new_corpus", BUILD, "Add a corpus of your own."),
    "find-corpus": Command("find_corpus", "find_corpus", BUILD, "List the corpora of OPUS in two languages."),
    "fine-tune": Command("fine_tune", "fine_tune", BUILD, "Train a packaged system further, on text of your own."),
    "import": Command("import_model", "import_model", BUILD, "Make a package of a public model of OPUS-MT."),
    "check": Command("show", "check", BUILD, "Name every fault of params.yaml, configs/ and corpora/."),
    "clean": Command("clean", "clean", BUILD, "Show what each rule of cleaning drops from a corpus."),
    "params": Command("show", "show_params", BUILD, "Show what a system gets from params.yaml, configs/ and corpora/."),
    "repro": Command("repro", "repro", BUILD, "Build every system that params.yaml chooses."),
    "verify": Command("verify", "verify", BUILD, "Compare the scores of a build with those that are expected."),
    "experiments": Command("experiments", "experiments", BUILD, "Show DVC's experiments: what was varied, and scores."),
    "list": Command("show", "list_all", BUILD, "List corpora, vocabularies, models, sizes and built systems."),
    "translate": Command("translate", "translate", TRANSLATE, "Translate a sentence, a file or standard input."),
    "serve": Command("serve", "serve", TRANSLATE, "Serve packaged systems over HTTP, with a page to try them."),
    "export": Command("export", "export", TRANSLATE, "Write a Transformer as a CTranslate2 model."),
    "attention": Command("attention", "attention", INSPECT, "Translate a sentence and draw the attention weights."),
    "anatomy": Command("anatomy", "anatomy", INSPECT, "Draw positions, learning rates, label smoothing and masks."),
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
    command = COMMANDS[name]
    try:
        module = import_module(f"{commands.__name__}.{command.module}")  # the wheel has another name for the package
    except ModuleNotFoundError as error:
        raise DataError(
            f"nmt {name}: needs the package {error.name}, which is not installed; "
            f"expected nmt-pipeline[{EXTRAS.get(name, 'build')}]"
        ) from error
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name)(getattr(module, command.function))
    return typer.main.get_command(alone)


root = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
for name, entry in COMMANDS.items():
    root.command(name, cls=LazyCommand, help=entry.text, rich_help_panel=entry.panel)(lambda: None)


@root.callback()
def nmt() -> None:
    """Build translation systems, translate with them, and look inside them."""


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
