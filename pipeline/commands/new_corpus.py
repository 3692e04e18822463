"""`nmt new-corpus`: adds a corpus made from the user's own text."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import typer

from pipeline import catalogue, cli, files
from pipeline.commands import project
from pipeline.corpora import archives, downloading, local, parts, readers
from pipeline.corpora.fetching import Store
from pipeline.corpora.sources import Download, Local
from pipeline.encoding import training_length
from pipeline.files import DataError
from pipeline.params import DEFAULT, NAME, PATH, read_yaml
from pipeline.preparation import cleaning
from pipeline.system import corpus_file

HEAD = """\
# yaml-language-server: $schema=schema.json
# {about}
# `clean`, `split` and `decode` hold the keys that differ from params.yaml.
"""
NO_LANGUAGES = frozenset(  # endings of tools and formats
    ["bpe", "csv", "dat", "gz", "lc", "raw", "ref", "sgm", "src", "tc", "tgt", "tok", "trg", "tsv", "txt", "xml"]
)


class Found(NamedTuple):
    """Counts of a part."""

    pairs: int
    words: int  # of the target language


def new_corpus(
    name: Annotated[str, typer.Argument(help="What to call it: letters, digits and underscores.")],
    source: Annotated[Path | None, typer.Option(help="Training sentences, one a line; plain or .gz.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    table: Annotated[Path | None, typer.Option(help="Or a table of both, a pair a line, with tabs between.")] = None,
    hub: Annotated[str | None, typer.Option(help="Or the id of a data set of the Hugging Face hub.")] = None,
    source_column: Annotated[str | None, typer.Option(help="Of --table (a number, 1) or --hub (a name).")] = None,
    target_column: Annotated[str | None, typer.Option(help="Of --table (a number, 2) or --hub (a name).")] = None,
    source_language: Annotated[str | None, typer.Option(help="Such as de; by default the ending of --source.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Such as en; by default the ending of --target.")] = None,
    test_source: Annotated[Path | None, typer.Option(help="Test sentences; by default some of the others.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    licence: Annotated[str, typer.Option(help="Under which the corpus may be used.")] = "unknown",
    only: Annotated[bool, typer.Option("--only", help="Build no other corpus.")] = False,
) -> None:
    """Add a corpus: write corpora/NAME.yaml, a training budget that suits its size, and its name in `build`.

    Files are copied into my/, which DVC watches. `make repro` then builds the corpus's systems.
    """
    project.check_here()
    catalogue.check()
    check_name(name)
    check_one_kind({"--source and --target": source or target, "--table": table, "--hub": hub})
    if table is None and hub is None:
        check_no_column(source_column, target_column)
    train_files = pair_of("", source, target)
    test_files = pair_of("test-", test_source, test_target)
    codes = (
        language("--source-language", source_language, source),
        language("--target-language", target_language, target),
    )
    with cli.held(cli.LOCKS / "new-corpus"), rolled_back_by_signals(), Copies(name) as copies:
        check_name(name)  # another command may just have taken it
        if hub is not None:
            train = hub_part(hub, source_column, target_column)
        elif table is not None:
            train = copies.table(table, source_column, target_column)
        else:
            assert train_files is not None
            train = copies.pair("train", codes, *train_files)
        about: dict[str, Any] = {"source_language": codes[0], "target_language": codes[1]}
        about["parts"] = {parts.TRAIN: train}
        if test_files:
            about["parts"][parts.TEST] = copies.pair("test", codes, *test_files)
        found = add(name, about, copies, licence, only=only)
    size = f"{found.pairs:,} pairs" if found else f"the data set {hub}"
    print(f"{corpus_file(name)}: {size}; {describe_training(name)}; `make repro` builds it")


def add(name: str, about: dict[str, Any], copies: "Copies", licence: str, *, only: bool) -> Found | None:
    """Count the parts, copy the user's files, write the corpus; what the training part holds, None of a hub's.

    Raises: DataError if the files are no parallel text, ParamsError if the project would have faults with them.
    """
    download = copies.originals(about)
    found = {part: count(part, download) for part, where in download.parts.items() if isinstance(where, Local)}
    copies.make()
    write(name, Download.model_validate(about), licence, found.get(parts.TRAIN), only=only)
    copies.keep()
    return found.get(parts.TRAIN)


def check_one_kind(kinds: dict[str, Any]) -> None:
    """Check that just one kind of source is given.

    Raises: DataError naming those that are.
    """
    if sum(one is not None for one in kinds.values()) != 1:
        given = " and ".join(kind for kind, one in kinds.items() if one is not None) or "none"
        raise DataError(f"nmt new-corpus: expected one of {', '.join(kinds)}, got {given}")


def describe_training(name: str) -> str:
    """How long a corpus's training is, and where to change that."""
    training = read_yaml(PATH)["training"]
    place = name if "updates" in training[name] else DEFAULT
    return f"training.{place} in {PATH}: {training[place]['updates']:,} updates"


def check_name(name: str) -> None:
    """Check that a new corpus can have this name.

    Raises: DataError.
    """
    if not re.fullmatch(NAME, name) or name == DEFAULT:
        raise DataError(f"NAME: must be letters, digits and underscores, and not {DEFAULT!r}, got {name!r}")
    if os.path.lexists(corpus_file(name)):
        raise DataError(f"{corpus_file(name)}: there is a corpus of this name; expected a new one")
    if name in read_yaml(PATH)["training"]:
        raise DataError(f"{PATH}: training.{name}: is that of an earlier corpus; remove it, or choose another name")


def pair_of(prefix: str, source: Path | None, target: Path | None) -> tuple[Path, Path] | None:
    """The two files of a part; None if neither is given.

    Raises: DataError naming the missing one if only one is given.
    """
    if source is not None and target is not None:
        return source, target
    if source is target:
        return None
    missing = "source" if source is None else "target"
    raise DataError(f"--{prefix}{missing}: is missing; expected both --{prefix}source and --{prefix}target")


def check_no_column(source_column: str | None, target_column: str | None) -> None:
    """Check that no column is named for parallel files, which have none.

    Raises: DataError.
    """
    for option, column in (("--source-column", source_column), ("--target-column", target_column)):
        if column is not None:
            raise DataError(f"{option}: is for --table and --hub, got {column!r}; expected none beside --source")


def language(option: str, text: str | None, path: Path | None) -> str:
    """The language of one side: the option, or the ending of its file.

    Raises: DataError if neither gives one.
    """
    if text is not None:
        return text
    endings = [ending.removeprefix(".") for ending in (path.suffixes if path else [])]
    found = [one for one in endings if re.fullmatch(r"[A-Za-z]{2,3}", one) and one.lower() not in NO_LANGUAGES]
    if not found:
        raise DataError(f"{option}: is missing, and no name of a file ends in a language; expected one, such as de")
    return found[-1]


def number(option: str, text: str | None, usual: int) -> int:
    """A column of a table.

    Raises: DataError if it is not a number.
    """
    if text is not None and not re.fullmatch("[0-9]{1,9}", text):
        raise DataError(f"{option}: must be the number of a column of the table, got {text!r}; expected 1 or more")
    return usual if text is None else int(text)


def hub_part(dataset: str, source_column: str | None, target_column: str | None) -> dict[str, Any]:
    """The training part of a data set: the named columns, or else the field `translation`."""
    where = {"kind": "hub", "dataset": dataset, "revision": "main", "split": "train"}
    if source_column is None and target_column is None:
        return where | {"translation_field": "translation"}
    return where | {"source_column": source_column, "target_column": target_column}


@contextmanager
def rolled_back_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit, so that changes are rolled back, as after Ctrl-C."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Copies:
    """Copies of the user's files in my/, removed at the end of the block unless `keep` was called."""

    def __init__(self, name: str) -> None:
        self.name, self.kept = name, False
        self.planned: dict[str, Path] = {}  # the copy -> the user's file
        self.made: list[Path] = []

    def __enter__(self) -> "Copies":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.kept:
            for path in self.made:
                path.unlink(missing_ok=True)

    def make(self) -> None:
        """Copy the files."""
        for copy, path in self.planned.items():
            with files.new_file(Path(copy), "wb") as file, path.open("rb") as original:
                self.made.append(Path(copy))
                shutil.copyfileobj(original, file)

    def keep(self) -> None:
        """Keep the copies."""
        self.kept = True

    def originals(self, about: dict[str, Any]) -> Download:
        """The keys of a corpus's file, with the user's files in place of the planned copies.

        Raises: DataError listing every fault.
        """
        found = {
            name: {key: self.original(value) for key, value in part.items()} for name, part in about["parts"].items()
        }
        if faults := list(Download.faults(about | {"parts": found}, "", corpus_file(self.name))):
            raise DataError("\n".join(faults))
        return Download.model_validate(about | {"parts": found})

    def original(self, value: Any) -> Any:
        """The user's file if the value is the path of its copy, else the value."""
        return str(self.planned[value]) if value in self.planned else value

    def pair(self, part: str, languages: tuple[str, str], source: Path, target: Path) -> dict[str, str]:
        """A part of two parallel files.

        Raises: DataError if a file is missing or its copy's name is taken.
        """
        endings = ("source", "target") if languages[0] == languages[1] else languages
        names = [f"{part}.{ending}" for ending in endings]
        return {"kind": "local", "source": self.add(source, names[0]), "target": self.add(target, names[1])}

    def table(self, path: Path, source_column: str | None, target_column: str | None) -> dict[str, Any]:
        """A part of a table.

        Raises: DataError if a column is no number, or the table cannot be copied.
        """
        columns = {
            "source_column": number("--source-column", source_column, 1),
            "target_column": number("--target-column", target_column, 2),
        }
        return {"kind": "local", "table": self.add(path, "train.tsv")} | columns

    def add(self, path: Path, name: str) -> str:
        """The path below my/ of a file: its own if it is there already, else that of the copy to make.

        Raises: DataError if the file does not exist, or the copy's name is taken.
        """
        if not path.is_file():
            raise DataError(f"{path}: no such file; expected one of sentences")
        inside = Path(os.path.relpath(path.absolute(), Path.cwd()))
        if inside.parts[:1] == local.FOLDER.parts:
            return inside.as_posix()
        # The reader tells by the name whether a file is packed, and whether it has tags between its lines.
        tagged = "train.tags." if readers.is_tagged(path.name) else ""
        packed = ".gz" if archives.archive_kind(path.name) == "gz" else ""
        copy = local.FOLDER / f"{tagged}{self.name}.{name}{packed}"
        if os.path.lexists(copy):
            raise DataError(f"{copy}: already there; expected a new name, or this path in place of {path}")
        self.planned[copy.as_posix()] = path
        return copy.as_posix()


def count(part: str, download: Download) -> Found:
    """The number of pairs of a part, and of words in the target language; only `train` may have bytes beyond UTF-8.

    Raises: DataError if the files are not parallel text.
    """
    store = Store(Path("work/downloads"), None)
    texts = downloading.stored(download.parts[part], download, store)
    num_pairs, num_words = 0, [0, 0]
    for num_pairs, pair in enumerate(downloading.read(part, download, texts, store), 1):  # noqa: B007 (a count)
        for side, line in enumerate(pair):
            num_words[side] += cleaning.num_words(" ".join(line.decode(errors="replace").split()))
    for text, number in zip((texts[0], texts[-1]), num_words, strict=True):
        if not number:
            raise DataError(f"{text.name}: holds no text; expected sentences")
    return Found(num_pairs, num_words[1])


def write(name: str, download: Download, licence: str, found: Found | None, *, only: bool) -> None:
    """Write the corpus's file, and its training and name in params.yaml; both or none.

    Raises: ParamsError if the project would have faults with it.
    """
    from dvc.utils.serialize import dumps_yaml, parse_yaml_for_update  # DVC takes a second to import

    path, before = corpus_file(name), PATH.read_bytes()
    params = parse_yaml_for_update(before.decode(), PATH)
    params["training"][name] = flow(training_length.suggest(*found) if found else {})
    corpora = params["build"]["corpora"]
    if only:
        corpora.clear()
    corpora.append(name)
    try:
        with files.new_file(path) as file:
            file.write("".join(corpus_text(download, licence, found)))
        with files.new_file(PATH.resolve()) as file:  # a link stays one
            file.write(dumps_yaml(params))
        catalogue.check()
    except BaseException:
        path.unlink(missing_ok=True)
        if PATH.read_bytes() != before:
            with files.new_file(PATH.resolve(), "wb") as file:
                file.write(before)
        raise


def flow(values: dict[str, int]) -> Any:
    """A mapping that YAML writes on one line."""
    from ruamel.yaml.comments import CommentedMap

    found = CommentedMap(values)
    found.fa.set_flow_style()
    return found


def corpus_text(download: Download, licence: str, found: Found | None) -> Iterator[str]:
    """The lines of the corpus's file."""
    from dvc.utils.serialize import dumps_yaml

    yield HEAD.format(about=f"{found.pairs:,} pairs." if found else "A data set of the Hugging Face hub.")
    yield dumps_yaml({"licence": licence} | download.model_dump(exclude_none=True))
    yield "clean: {}\n"
    share = training_length.held_out_share(found.pairs) if found else 0.001
    yield "split: # the shares of the pairs to hold out, 0.0 for a part that is named above\n"
    yield f"  carve_by: source\n  validation_share: {share}\n"
    yield f"  test_share: {0.0 if parts.TEST in download.parts else share}\n"
    yield "decode: {}\n"
