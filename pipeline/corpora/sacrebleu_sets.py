"""Test sets by their sacrebleu names: the files that the package keeps in its cache (`SACREBLEU`, ~/.sacrebleu)."""

from pathlib import Path

import sacrebleu

from ..common import files, params


def find(name: str, source_language: str, target_language: str) -> tuple[str, bool]:
    """The language pair as sacrebleu names it for test set `name`, and whether its sides must be swapped.

    Raises: ValueError naming the nearest test set, or the language pairs that this one has.
    """
    if name not in sacrebleu.DATASETS:
        raise ValueError(f"name: unknown sacrebleu test set, got {name!r}{params.nearest(name, sacrebleu.DATASETS)}")
    known = sacrebleu.get_langpairs_for_testset(name)
    pairs = f"{source_language}-{target_language}", f"{target_language}-{source_language}"
    for pair in pairs:
        if pair in known:
            return pair, pair != pairs[0]
    raise ValueError(
        f"name: sacrebleu's {name} lacks this pair, got {pairs[0]}; expected one of {', '.join(sorted(known))}"
    )


def texts(name: str, pair: str, number: int) -> tuple[Path, Path]:
    """The source file of a test set and one of its references, counted from 1; downloaded if need be.

    Raises: DataError if sacrebleu cannot download them, there are fewer, or some lines have another reference.
    """
    try:
        source, references = sacrebleu.get_source_file(name, pair), sacrebleu.get_reference_files(name, pair)
    except (Exception, SystemExit) as error:  # it ends the process where a checksum differs
        raise files.DataError(
            f"sacrebleu {name} {pair}: cannot be fetched, got {error}; expected a connection, or "
            f"`sacrebleu --download {name} --language-pair {pair}` run before"
        ) from None
    if number > len(references):
        raise files.DataError(f"sacrebleu {name} {pair}: reference: must be at most {len(references)}, got {number}")
    reference = Path(references[number - 1])
    if len(references) > 1 and not all(files.read_lines(reference)):
        raise files.DataError(
            f"{reference}: has empty lines, whose references are in other files; expected a whole one"
        )
    return Path(source), reference
