"""`nmt attention`: the attention of a system while it translates a sentence."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands import project, sentences
from pipeline.commands.out import check, new_folder
from pipeline.commands.translate import overridden
from pipeline.decoding.attending import written
from pipeline.decoding.settings import MOST_BEAM
from pipeline.evaluation import attention_pages
from pipeline.evaluation.attended import Attended
from pipeline.files import DataError
from pipeline.progress import console
from pipeline.terminal import printable


def attention(
    system: Annotated[str, typer.Option(help="Built system: its id, or a part of it that no other one has.")],
    sentence: Annotated[str, typer.Argument(help="The sentence.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the page and the pictures; work/attention/<system> without it.")
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=MOST_BEAM, help="Beam size, instead of decode.beam_size.")
    ] = None,
) -> None:
    """Translate a sentence, draw the attention weights as a page (index.html, readable offline) and as PNG files."""
    project.check_here()
    check(out, "attention")
    chosen = project.parse(system)
    decoding = overridden(project.decoding(chosen), beam)
    line = next(sentences.decoded([sentence.encode(errors="surrogateescape")], "sentence"))
    translator = project.load(chosen)
    [source] = translator.read([line])
    if not source.ids:
        raise DataError(f"sentence: holds no text, got {sentence!r}; expected words to translate")
    sentences.warn(translator, source, line, "sentence")
    [[best]] = translator.search([source], decoding)
    output = written(best.ids, decoding.max_length(len(source.ids)))
    record = translator.attention(1, source, output)
    if not record["weights"]:
        raise DataError(f"--system: {chosen.model} has no attention to draw, got {chosen.id!r}; expected another model")
    with new_folder(out, Path("work/attention", chosen.id), "attention") as (folder, path):
        page = attention_pages.write(folder, f"{chosen.id}: attention", [Attended.of(record)])
    console.print(printable(record["text"]), markup=False, highlight=False)
    print(path / page.name)
