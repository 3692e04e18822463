"""`nmt attention`: the attention of a system while it translates a sentence."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ..common import files
from ..console.printing import printable
from ..console.progress import console
from ..decoding.attending import written
from . import project
from .translate import Beam, overridden


def attention(
    system: Annotated[str, typer.Option(help="Built system: its id, or a part of it that no other one has.")],
    sentence: Annotated[str, typer.Argument(help="The sentence.")],
    out: Annotated[Path | None, typer.Option(help="The page; work/attention/<system>.html without it.")] = None,
    beam: Beam = None,
) -> None:
    """Translate a sentence, and draw the attention weights as an HTML page that needs no network."""
    from ..report import attention as maps
    from ..report import page  # need jinja2, which a package alone does not

    project.check_here()
    chosen = project.parse(system)
    translator = project.load(chosen)
    decoding = overridden(translator.decoding, beam)
    source = translator.read(files.decoded(os.fsencode(sentence), "sentence", 1), "sentence")
    if not source:
        raise files.DataError(f"sentence: holds no text, got {sentence!r}; expected words to translate")
    [[best]] = translator.search([source], decoding)
    record = translator.attention(1, source, written(best.ids, decoding.max_length(len(source))))
    if not record["weights"]:
        raise files.DataError(
            f"--system: {chosen.model} has no attention to draw, got {chosen.id!r}; expected another model"
        )
    path = out or Path("work/attention", f"{chosen.id}.html")
    with files.new_file(path) as file:
        data = {chosen.id: [maps.sentence(record, "")]}
        file.write(page.TEMPLATES.get_template("attention.html").render(title=chosen.id, data=data))
    console.print(printable(record["text"]), markup=False, highlight=False)
    print(path)
