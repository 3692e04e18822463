"""Write the checksums of the user's own files of one corpus: my/ -> data/local/<corpus>.json.

DVC watches all of my/, as it cannot list the files that corpora/<corpus>.yaml names. `download` depends on the
checksums of its own corpus, so that an edit downloads that corpus again and no other.
"""

from pathlib import Path

from pipeline import cli, files
from pipeline.corpora import local
from pipeline.corpora.sources import Download
from pipeline.params import Reader

READS = (
    "corpora/{corpus}.yaml:source_language",
    "corpora/{corpus}.yaml:target_language",
    "corpora/{corpus}.yaml:parts",
)


def main(corpus: str) -> None:
    """Write the checksum of each file of `kind: local`; most corpora have none."""
    download = Reader(READS, corpus=corpus).top(Download, "corpora/{corpus}.yaml")
    local.link_into_experiment()
    files.write_json(Path("data/local", f"{corpus}.json"), local.checksums(download))


if __name__ == "__main__":
    cli.run(main)
