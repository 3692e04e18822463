"""The commands that the documents tell a reader to type, as a shell would split them."""

import re
import shlex
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from ruamel.yaml import YAML

SYSTEM = "phrasebook_fr_en-bpe_2k-transformer_prenorm-tiny"
CORPUS, VOCABULARY, MODEL, SIZE = SYSTEM.split("-")
# What a reader puts for the names in angle brackets.
PLACEHOLDERS = {
    "<id>": SYSTEM,
    "<system>": SYSTEM,
    "<corpus>": CORPUS,
    "<vocabulary>": VOCABULARY,
    "<model>": MODEL,
    "<size>": SIZE,
    "<first machine>": "127.0.0.1",
    "<version>": "2.13.0",
    "<package>": "torch",
    "<path>": "README.md",
    "<project>": ".",
    "<folder>": "docs",
    "<experiment>": "main",
    "<name>": "main",
    "<url>": "s3://bucket/nmt",
    "<key>": "secret",
}
SHELL = ("", "bash", "sh", "shell", "console")  # the languages of a fence that holds commands; `text` holds none
REDIRECTIONS = ("<", ">", ">>")


@dataclass(frozen=True)
class Command:
    """One command of a document, under the params.yaml that the document has its reader edit by then."""

    where: str  # document:line
    words: tuple[str, ...]
    edits: tuple[tuple[str, ...], ...] = ()  # of params.yaml, in order: ("yaml", text) or the values of -S
    named: bool = False  # in a sentence, which may leave arguments out

    def __str__(self) -> str:
        return f"{self.where}: {shlex.join(self.words)}"


def read(document: Path, name: str, programs: frozenset[str]) -> list[Command]:
    """Every command of a Markdown file: all lines of shell fences, and inline code that starts with a known program.

    An edit of params.yaml, a fence of yaml or a `dvc exp run -S`, holds until the next heading; in a queue, for itself.
    """
    found: list[Command] = []
    edits: tuple[tuple[str, ...], ...] = ()
    for token in MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8")):
        where = f"{name}:{token.map[0] + 1 if token.map else 0}"
        if token.type == "heading_open":
            edits = ()
        elif token.type == "fence" and token.info == "yaml":
            edits = (*edits, ("yaml", token.content)) if is_edit(token.content) else edits
        elif token.type == "fence" and token.info in SHELL:
            for words in split(token.content, where):
                found.append(Command(where, words, (*edits, *overrides(words))))
                edits = found[-1].edits if not {"--queue", "--temp"} & set(words) else edits
        else:
            found += [Command(where, words, overrides(words), named=True) for words in inline(token, where, programs)]
    return found


def is_edit(text: str) -> bool:
    """Whether a fence of yaml is an edit of the choice, and not an example of one section."""
    return text.startswith("build:") and set(YAML(typ="safe").load(StringIO(text))) == {"build"}


def overrides(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The values of every -S of a `dvc exp run`, which are one edit, or none."""
    if words[:3] != ("dvc", "exp", "run"):
        return ()
    values = tuple(value for option, value in pairwise(words) if option in ("-S", "--set-param"))
    return (values,) if values else ()


def inline(token: Token, where: str, programs: frozenset[str]) -> list[tuple[str, ...]]:
    """The commands among the inline code of a token, and the first line of an indented block that is one."""
    if token.type == "inline":
        texts = [child.content for child in token.children or [] if child.type == "code_inline"]
    else:
        texts = token.content.splitlines()[:1] if token.type == "code_block" else []
    found = []
    for text in texts:
        if " " in text and "…" not in text and set(text.split()[:2]) & programs:
            found += split(text, where)
    return found


def fill(text: str, where: str) -> str:
    """A text with a value in place of each placeholder."""
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    left = re.findall(r"<[a-z][a-z _-]*>", text)
    assert not left, f"{where}: no value for {left[0]}; give it one in tests/documents.py, PLACEHOLDERS"
    return text


def split(text: str, where: str) -> list[tuple[str, ...]]:
    """The words of each command of a shell text, without variables set before it, redirections and comments."""
    if text.startswith("#!"):
        return script(fill(text, where), where)
    commands: list[list[str]] = []
    for line in re.sub(r"\\\n", " ", fill(text, where)).splitlines():
        lexer = shlex.shlex(without_comment(line), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        words = lex(lexer, where)
        commands.append([])
        for before, word in zip(["", *words], words, strict=False):
            if set(word) <= set("|&;"):
                commands.append([])
            elif word not in REDIRECTIONS and before not in REDIRECTIONS and word != "...":
                commands[-1].append(word)
    return [tuple(command) for command in map(without_variables, commands) if command]


def lex(lexer: shlex.shlex, where: str) -> list[str]:
    """The words of a line."""
    try:
        return list(lexer)
    except ValueError as error:
        raise AssertionError(f"{where}: no shell command ({error}); write ```text before what is none") from error


def without_comment(line: str) -> str:
    """A line up to the `#` that begins a comment: one at a word's start, outside quotes."""
    quote = ""
    for place, letter in enumerate(line):
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == "#" and not quote and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def without_variables(words: list[str]) -> list[str]:
    """A command without `NAME=value` before its program."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0], re.S):
        words = words[1:]
    return words


def script(text: str, where: str) -> list[tuple[str, ...]]:
    """A whole script is one command, `bash -n`, and each `dvc ...` and `python -m ...` in it another."""
    calls = re.findall(r"\b(?:dvc|python -m) [^\n'|&;]*", text)
    return [("bash", "-n", text), *(words for call in calls for words in split(call, where))]
