"""Train one vocabulary on a corpus's training part: data/split/ -> data/vocabulary/."""

from pathlib import Path

from pipeline.common import files
from pipeline.common.params import ParamsError
from pipeline.common.system import split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.packaging import sealed, start
from pipeline.packaging.vocabulary import check_spelling
from pipeline.vocabularies import subwords, words
from pipeline.vocabularies.samples import Tagging
from pipeline.vocabularies.vocabulary import Vocabulary, VocabularySection

READS = ("vocabularies.{vocabulary}", "corpora/{corpus}.yaml:tags", "corpora/{corpus}.yaml:start")


def main(name: str) -> None:
    """Train `<corpus>-<vocabulary>` on the training part of a corpus only, or copy the vocabulary of its package."""
    corpus, _, vocabulary = name.partition("-")
    split, where = split_folder(corpus), READS[0].format(vocabulary=vocabulary)
    tags, base, kind = Tagging.read(corpus, split), start.load(corpus), VocabularySection.load_own(where).kind
    if fault := start.vocabulary_fault(corpus, kind, starts=bool(base)):
        raise ParamsError(fault)
    with files.new_folder(vocabulary_folder(corpus, vocabulary)) as folder:
        if base:
            copy(base, split, folder)
        elif kind == "word":
            about = files.read_json(split / "languages.json")
            languages = about["source_language"], about["target_language"]
            words.train(words.Words.load(where), split, languages, tags, folder, where)
        else:
            subwords.train(subwords.Subwords.load(where), split, tags, folder, where)


def copy(base: start.Base, split: Path, folder: Path) -> None:
    """Copy the vocabulary of a package, which must be of the languages in `split`, and spell their text."""
    about, config = files.read_json(split / "languages.json"), base.config
    new, old = (about["source_language"], about["target_language"]), (config.source_language, config.target_language)
    if new != old:
        what = f"must translate {'-'.join(new)}, the languages of {split}, got {'-'.join(old)}"
        raise files.DataError(f"{base.folder}: {what}; expected a package of these")
    sealed.copy_vocabulary(base.folder / sealed.VOCABULARY, folder)
    check_spelling(Vocabulary.load(folder), split, base.folder)


if __name__ == "__main__":
    cli.run(main)
