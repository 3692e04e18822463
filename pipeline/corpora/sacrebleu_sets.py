"""Test sets by their sacrebleu names, read from the package's own cache or made from the archives it names."""

import copy
import hashlib
import shutil
import tarfile
from pathlib import Path
from typing import Any

from sacrebleu.dataset import DATASETS
from sacrebleu.utils import SACREBLEU_DIR

from pipeline import files, params
from pipeline.corpora.fetching import Store, locked


def find(name: str, source_language: str, target_language: str) -> tuple[str, bool]:
    """The language pair as sacrebleu names it for test set `name`, and whether its sides must be swapped.

    Raises: ValueError naming the nearest test set, or the language pairs that this one has.
    """
    if name not in DATASETS:
        raise ValueError(f"name: unknown sacrebleu test set, got {name!r}{params.nearest(name, DATASETS)}")
    known = DATASETS[name].langpairs
    for pair, swapped in (
        (f"{source_language}-{target_language}", False),
        (f"{target_language}-{source_language}", True),
    ):
        if pair in known:
            return pair, swapped
    raise ValueError(
        f"name: sacrebleu's {name} lacks this pair, got {source_language}-{target_language}; "
        f"expected one of {', '.join(sorted(known))}"
    )


def texts(name: str, pair: str, store: Store) -> tuple[Path, Path]:
    """The source and the reference file of a test set: those in sacrebleu's cache, else ours.

    Of several references the first that sacrebleu scores with.

    Ours are made in the store by sacrebleu's code, atomically: in its own cache, a killed download leaves a part that
    it takes for the whole, so sides of different length are not taken from there.

    Raises: DataError if some lines have another reference than others.
    """
    theirs = inside(Path(SACREBLEU_DIR, name), name, pair)
    if theirs and files.count_lines(theirs[0]) == files.count_lines(theirs[1]):
        return whole(theirs, name, pair)
    ours = store.folder / f"sacrebleu-{name.replace('/', '_')}.{pair}"
    store.folder.mkdir(parents=True, exist_ok=True)
    with locked(store.folder / f"{ours.name}.lock"):  # another corpus may need the same set
        if not inside(ours, name, pair):
            build(name, pair, store, ours)
    found = inside(ours, name, pair)
    assert found is not None, ours
    return whole(found, name, pair)


def whole(found: tuple[Path, Path], name: str, pair: str) -> tuple[Path, Path]:
    """The same files.

    Raises: DataError if some lines have another reference than others.
    """
    if len(labels := references_of(name, pair)) > 1 and not all(files.read_lines(found[1])):
        raise files.DataError(
            f"sacrebleu {name}: {found[1].name} has empty lines, whose references are elsewhere in "
            f"{', '.join(labels)}; expected a test set in which one reference has all"
        )
    return found


def inside(folder: Path, name: str, pair: str) -> tuple[Path, Path] | None:
    """Source and reference of a test set in a folder that sacrebleu wrote, or None."""
    stem = f"{name.replace('/', '_')}.{pair}"
    source = folder / f"{stem}.src"
    wanted = [folder / f"{stem}.{label}" for label in references_of(name, pair)]
    references = [path for path in wanted if path.exists()] if wanted else sorted(folder.glob(f"{stem}.ref*"))
    return (source, references[0]) if references and source.exists() else None


def references_of(name: str, pair: str) -> list[str]:
    """The endings of the references that sacrebleu scores with, where a test set has several; else none."""
    labels = getattr(DATASETS[name], "_get_langpair_allowed_refs", None)
    return [label.replace(":", "-") for label in labels(pair)] if labels else []


def build(name: str, pair: str, store: Store, folder: Path) -> None:
    """Fetch the archives of a test set and let sacrebleu make its text files in `folder`."""
    dataset: Any = copy.copy(DATASETS[name])  # Any, for its names are private
    with files.new_folder(folder) as out:
        dataset._outdir, dataset._rawdir = str(out), str(out / "raw")
        dataset.maybe_download = lambda: None  # done here, with retries, and checked
        (out / "raw").mkdir()
        for address, md5 in zip(dataset.data, dataset.md5, strict=True):
            unpack(fetch(address, md5, store), out / "raw" / dataset._get_tarball_filename(address))
        dataset.process_to_text(pair)
        shutil.rmtree(out / "raw")


def fetch(address: str, md5: str, store: Store) -> Path:
    """An archive with the MD5 that sacrebleu knows for it.

    Raises: DataError with both sums; the file is not kept.
    """
    path = store.fetch(address)
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "md5").hexdigest()
    if md5 != got:
        path.unlink()
        raise files.DataError(f"{address}: the checksum differs, got md5 {got}; expected {md5}")
    return path


def unpack(archive: Path, raw: Path) -> None:
    """Unpack an archive's files beside the path `raw`; a file that is no archive becomes `raw` itself."""
    if raw.name.endswith((".tgz", ".tar.gz")):
        known = hasattr(tarfile, "data_filter")  # from Python 3.11.4 on
        safe: dict[str, Any] = {"filter": "data"} if known else {}
        shutil.unpack_archive(archive, raw.parent, "gztar", **safe)
    elif raw.name.endswith(".zip"):
        shutil.unpack_archive(archive, raw.parent, "zip")
    else:
        shutil.copyfile(archive, raw)
