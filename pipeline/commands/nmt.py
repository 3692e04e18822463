"""The command `nmt`: translate with what was built, and look inside."""

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from pipeline import cli, commands
from pipeline.commands import completion
from pipeline.files import DataError

# Name of each command -> its function, in the module of the same name, and what `nmt --help` says of it. A command's
# module is imported only when it runs: each takes its second, and packages that the others may lack.
COMMANDS = {
    "translate": ("translate", "Translate a sentence, a file or standard input."),
    "attention": ("attention", "Translate a sentence and draw the attention weights."),
    "serve": ("serve", "Serve packaged systems over HTTP, with a page to try them."),
    "anatomy": ("anatomy", "Draw positions, learning rates, label smoothing and masks."),
    "export": ("export", "Write a Transformer as a CTranslate2 model."),
    "check": ("check", "Name every fault of params.yaml and corpora/*.yaml."),
    "params": ("show_params", "Show what a system gets from params.yaml, configs/ and corpora/."),
    "repro": ("repro", "Build every system that params.yaml chooses."),
    "copy-task": ("copy_task", "Train a model to copy digits."),
    "search": ("search", "Find the values of a training that are best on validation."),
    "list": ("list_all", "Show corpora, vocabularies, models, sizes, built systems."),
    "new-corpus": ("new_corpus", "Add a corpus of your own."),
}
EXTRAS = {"serve": "serve"}  # of the wheel, where it is not `build`; `search` itself says that it needs optuna
PLAIN: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,  # which keeps the line breaks of docstrings
}


class LazyGroup(TyperGroup):
    """The commands of `COMMANDS`, each imported when it is asked for."""

    def list_commands(self, _: Any) -> list[str]:
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, _: Any, name: str) -> Any:
        """The command of a name."""
        if name not in COMMANDS:
            return None
        function, _help = COMMANDS[name]
        try:
            module = import_module(f"{commands.__name__}.{function}")  # the wheel has another name for the package
        except ModuleNotFoundError as error:
            raise DataError(
                f"nmt {name}: needs the package {error.name}, which is not installed; "
                f"expected nmt-pipeline[{EXTRAS.get(name, 'build')}]"
            ) from error
        alone = typer.Typer(add_completion=False, **PLAIN)
        alone.command(name)(cli.to_the_end(getattr(module, function)))
        return get_command(alone)

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write the list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_function, text) in COMMANDS.items()])


root = typer.Typer(cls=LazyGroup, no_args_is_help=True, **PLAIN)


@root.callback()
def nmt() -> None:
    """Build translation systems, translate with them, and look inside them."""


def app() -> None:
    """Run the command line: a user's mistake prints one message, a bug a traceback, as in stages."""
    cli.call(run)


def run() -> None:
    """Run the commands, unless standard output is closed, or a shell asks what may be typed next."""
    if sys.stdout is None:
        raise DataError("standard output: is closed; expected a place for what the command prints")
    if proposed := completion.answer({name: function for name, (function, _help) in COMMANDS.items()}):
        print(proposed[0])
        sys.exit(proposed[1])
    root(prog_name="nmt")


if __name__ == "__main__":
    app()
