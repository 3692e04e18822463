"""Train one vocabulary on a corpus's training part: data/split/ -> data/vocabulary/."""

from pipeline.common import files
from pipeline.common.system import split_folder, vocabulary_folder
from pipeline.console import cli
from pipeline.vocabularies import subwords, words
from pipeline.vocabularies.samples import Tagging
from pipeline.vocabularies.vocabulary import VocabularySection

READS = ("vocabularies.{vocabulary}", "corpora/{corpus}.yaml:tags")


def main(name: str) -> None:
    """Train a vocabulary on the training part of a corpus only: `<corpus>-<vocabulary>`."""
    corpus, _, vocabulary = name.partition("-")
    split, where = split_folder(corpus), READS[0].format(vocabulary=vocabulary)
    tags = Tagging.read(corpus, split)
    with files.new_folder(vocabulary_folder(corpus, vocabulary)) as folder:
        if VocabularySection.load_own(where).kind == "word":
            about = files.read_json(split / "languages.json")
            languages = about["source_language"], about["target_language"]
            words.train(words.Words.load(where), split, languages, tags, folder, where)
        else:
            subwords.train(subwords.Subwords.load(where), split, tags, folder, where)


if __name__ == "__main__":
    cli.run(main)
