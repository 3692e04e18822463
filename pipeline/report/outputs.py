"""The translations of all systems as other tools of comparison read them: compare-mt, Pearmut."""

from pathlib import Path

from ..common import files
from .results import CorpusResults


def write(folder: Path, corpus: CorpusResults) -> None:
    """Write `<part>/source.txt`, `reference.txt`, `reference2.txt` ..., one file a system, and a campaign for Pearmut.

    Source: the forms of Pearmut's README, with every line as a document that any annotator may get.
    """
    for part, (sources, references, _) in corpus.parts.items():
        systems = {corpus.label(system): system.texts[part].translations for system in corpus.systems}
        given = {f"reference{number}".removesuffix("1"): lines for number, lines in enumerate(references, 1)}
        for name, lines in ({"source": sources} | given | systems).items():
            files.write_lines(folder / part / f"{name}.txt", lines)
        rows = zip(sources, references[0], zip(*systems.values(), strict=True), strict=True)
        documents = [
            [{"item_id": str(number), "src": source, "ref": reference, "tgt": dict(zip(systems, lines, strict=True))}]
            for number, (source, reference, lines) in enumerate(rows, 1)
        ]
        info = {"assignment": "single-stream", "protocol": "ESA", "users": 1}
        campaign = {"info": info, "campaign_id": f"{corpus.name} {part}", "data": documents}
        files.write_json(folder / part / "pearmut.json", campaign)
