"""What the shell proposes when one presses Tab after `nmt`, in a fifth of a second.

So no command is imported, which takes seconds: options are read from the commands' sources, names of systems from the
project's folders. `nmt --install-completion` sets a shell up with typer's script, which runs `nmt` with the words typed
so far in the environment.
"""

import ast
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeline.commands.naming import shortest

VARIABLE = "_NMT_COMPLETE"
SYSTEM = re.compile(r"(\w+-){3}\w+(-[1-9][0-9]*)?")
TOP = ("--help", "--install-completion", "--show-completion")


def answer(commands: Mapping[str, str]) -> tuple[str, int] | None:
    """What typer's script of a shell expects on standard output, and the exit status; None if no script asks."""
    shell = os.environ.get(VARIABLE, "")
    if shell == "complete_bash":
        words, current = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
        before, start = words[1:current], (words[current:] or [""])[0]
    elif shell in ("complete_zsh", "complete_fish"):
        text = os.environ["_TYPER_COMPLETE_ARGS"]
        words = text.split()[1:]
        before, start = (words, "") if text.endswith(" ") or not words else (words[:-1], words[-1])
    else:
        return None
    found = proposals(before, start, commands)
    if shell == "complete_zsh":
        quoted = "\n".join(f'"{text}"' for text in found)
        return (f"_arguments '*: :(({quoted}))'" if found else "_files"), 0
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":  # whether to propose these, or files
        return "", 0 if found else 1
    return "\n".join(found), 0


def proposals(before: list[str], start: str, commands: Mapping[str, str]) -> list[str]:
    """What may stand next, after the words `before`, if `start` is typed already; `commands` name their modules."""
    found: Iterable[str] = ()
    if not before:
        found = [*commands, *TOP]
    elif before[0] in commands and start.startswith("-"):
        found = options(Path(__file__).with_name(f"{commands[before[0]]}.py"))
    elif before[-1] == "--system":
        found = systems(start)
    elif before[-1] == "--model":
        found = models() if before[0] == "copy-task" else map(str, sorted(Path("models").glob("[!.]*-*-*-*")))
    return [text for text in found if text.startswith(start)]


def systems(start: str) -> list[str]:
    """The least that names each system built here; their ids, if only these begin as what is typed."""
    ids = sorted(path.parent.name for path in Path("runs").glob("*/average") if SYSTEM.fullmatch(path.parent.name))
    short = [shortest(name, ids) for name in ids]
    return short if any(name.startswith(start) for name in short) else ids


def models() -> list[str]:
    """The models that there are, by their modules."""
    folder = Path(__file__).parents[1] / "models"
    return sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "interface"))


def options(source: Path) -> list[str]:
    """The options of the command that a file defines by its own name: the arguments that are a `typer.Option`."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    command = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == source.stem)
    found = ["--help"]
    for argument in command.args.args:
        written = ast.unparse(argument.annotation or argument)
        if "typer.Option(" in written:
            name = argument.arg.replace("_", "-")
            own = [f"--{name}", f"--no-{name}"] if written.startswith("Annotated[bool,") else [f"--{name}"]
            found += re.findall(r"'(--[\w-]+)", written) or own
    return sorted(found)
