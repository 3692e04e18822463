"""Train one vocabulary on a corpus's training part: data/split/ -> data/vocabulary/."""

from pipeline import cli
from pipeline.common import files, parts
from pipeline.common.params import Reader
from pipeline.common.system import split_folder, vocabulary_folder
from pipeline.vocabularies import seen_words, subwords, words
from pipeline.vocabularies.vocabulary import Kind

READS = ("vocabularies.{vocabulary}",)


def main(name: str) -> None:
    """Train a vocabulary on the training part of a corpus only: `<corpus>-<vocabulary>`."""
    corpus, _, vocabulary = name.partition("-")
    read, where = Reader(READS, vocabulary=vocabulary), READS[0].format(vocabulary=vocabulary)
    split, kind = split_folder(corpus), read(Kind, READS[0]).kind
    texts = parts.paths(split, parts.TRAIN)
    with files.new_folder(vocabulary_folder(corpus, vocabulary)) as folder:
        if kind == "word":
            about = files.read_json(split / "languages.json")
            languages = about["source_language"], about["target_language"]
            words.train(read(words.Words, READS[0]), *texts, languages, folder, where)
        else:
            subwords.train(read(subwords.Subwords, READS[0]), *texts, folder, where)
        seen_words.write(files.read_lines(texts[0]), folder)


if __name__ == "__main__":
    cli.run(main)
