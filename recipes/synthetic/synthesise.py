"""Translate a text into more text to train on: my/<text>.<language> -> my/<output>.<language>.

The page beside this file, or another, says what and how. A run that was killed goes on where it was; one after which
neither page nor text nor translator has changed does nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field, PositiveInt

from pipeline.common import files, work
from pipeline.common.files import DataError
from pipeline.common.normalisation import normalised
from pipeline.common.params import Section
from pipeline.console import cli
from pipeline.corpora.importers import local
from pipeline.decoding.sampling import Sampling
from pipeline.languages import codes
from pipeline.packaging import loading, sealed
from pipeline.preparation import programs

PAGE = Path("recipes/synthetic/params.yaml")


class Packaged(Section):
    """A packaged system, by its own search but for what `decode` replaces, or by sampling."""

    kind: Literal["package"]
    folder: Annotated[str, Field(min_length=1)]
    decode: dict[str, Any]
    sampling: Annotated[Sampling | None, BeforeValidator(lambda value: value or None)]

    def identity(self, text: Path, output: Path) -> str:
        """What tells this package from others.

        Raises: DataError if it is not there, not whole, or does not translate between the languages of these files.
        """
        config = sealed.read(Path(self.folder))
        pair = config.source_language, config.target_language
        if pair != (codes.of_file(text.name), codes.of_file(output.name)):
            what = f"{self.folder} translates {' to '.join(pair)}, got {text} and {output}"
            raise DataError(f"translator.folder: {what}; expected the endings .{' and .'.join(pair)}")
        return files.sha256(Path(self.folder, sealed.CHECKSUMS))

    def translate(self, lines: Sequence[str], what: str) -> list[str]:
        """The translation of each line."""
        translator = replace(loading.load(Path(self.folder)), writes_unknown=False, sampling=self.sampling)
        return translator.translate(lines, translator.decoding.changed(**self.decode), what=what)


class Command(Section):
    """A program that prints a line for each line that it reads."""

    kind: Literal["command"]
    command: Annotated[str, Field(min_length=1)]

    def identity(self, text: Path, output: Path) -> str:
        """The command itself."""
        return self.command

    def translate(self, lines: Sequence[str], what: str) -> list[str]:
        """The translation of each line.

        Raises: DataError if the program fails or prints another number of lines.
        """
        where, expected = "translator.command", "a program that prints a line for each line that it reads"
        printed = programs.run(self.command, [[normalised(line)] for line in lines], where, expected)
        if len(printed) != len(lines):
            raise DataError(
                f"{where}: must print {len(lines)} lines for {what}, got {len(printed)}; expected {expected}"
            )
        return printed


class Recipe(Section):
    """The whole page."""

    text: str
    output: str
    lines_per_shard: PositiveInt
    translator: Annotated[Packaged | Command, Field(discriminator="kind")]


def main(
    page: Annotated[Path, typer.Option(help="What is translated, and how.")] = PAGE,
    processes: Annotated[int, typer.Option(min=1, help="Each holds a translator; no more lines come of more.")] = 1,
) -> None:
    """Translate the text of a page, and write beside the translation, in JSON, what it was made of."""
    recipe = Recipe.load(f"{page}:")
    text, out = local.text_of(recipe.text), Path(recipe.output)
    if out.parts[:1] != local.FOLDER.parts:
        raise DataError(f"{page}: output: must be in {local.FOLDER}/, got {out}; expected {local.FOLDER / out.name}")
    made_of = {
        "recipe": recipe.model_dump(),
        "text": files.sha256(text.path),
        "translator": recipe.translator.identity(text.path, out),
    }
    record = out.with_name(f"{out.name}.json")
    if is_done(out, record, made_of):
        print(f"{out}: is up to date")
        return
    if not (num_lines := sum(1 for _ in text.lines())):
        raise DataError(f"{text}: has no line; expected one sentence a line")
    shards = range(-(-num_lines // recipe.lines_per_shard))
    with work.unfinished(f"synthetic-{out.name}", made_of) as folder:
        translate = partial(translate_shard, recipe, folder)
        num_empty = sum(work.map_shards(translate, shards, folder, "empty", processes=processes))
        whole = folder / work.DATA / out.name
        with files.new_file(whole, "wb") as file:
            file.writelines(shard_path(folder, shard).read_bytes() for shard in shards)
        out.unlink(missing_ok=True)
        files.write_json(record, made_of | {"lines": num_lines, "empty": num_empty, "sha256": files.sha256(whole)})
        whole.rename(out)
    print(f"{out}: {num_lines:,} lines, of which {num_empty:,} are empty")


def is_done(out: Path, record: Path, made_of: dict[str, Any]) -> bool:
    """Whether the output is there, and of what it would be made of.

    Raises: DataError if it is there, and not as this script wrote it.
    """
    if not out.exists():
        return False
    written = files.read_json(record) if record.exists() else {}
    if written.get("sha256") != files.sha256(out):
        raise DataError(f"{out}: is there, and not as this recipe wrote it; expected another `output`, or no such file")
    return all(written.get(key) == value for key, value in made_of.items())


def shard_path(folder: Path, shard: int) -> Path:
    """The translation of a shard."""
    return folder / work.DATA / f"{shard}.txt"


def translate_shard(recipe: Recipe, folder: Path, shard: int) -> int:
    """Write the translation of some lines of the text; returns how many are empty."""
    begin, size = shard * recipe.lines_per_shard, recipe.lines_per_shard
    raw = islice(local.text_of(recipe.text).lines(), begin, begin + size)
    lines = [files.decoded(line, recipe.text, number) for number, line in enumerate(raw, begin + 1)]
    what = f"lines {begin + 1:,} to {begin + len(lines):,}"
    translations = [*map(normalised, recipe.translator.translate(lines, what))]
    files.write_lines(shard_path(folder, shard), translations)
    return translations.count("")


if __name__ == "__main__":
    cli.run(main)
