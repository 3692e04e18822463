"""Download one corpus, or unpack the bundled one: corpora/<corpus>.yaml -> data/download/<corpus>/.

Fetched files are kept in work/downloads/ and fetched once. `CORPUS_MIRROR` (a folder or an http address) is asked
first. A user's own files (`kind: local`) lie in my/, which DVC watches.
"""

import os
from pathlib import Path

from pipeline.common import files
from pipeline.common.parts import TRAIN
from pipeline.console import cli, progress
from pipeline.corpora import downloading
from pipeline.corpora.fetching import Downloads
from pipeline.corpora.sources import Download

READS = (
    "corpora/{corpus}.yaml:source_language",
    "corpora/{corpus}.yaml:target_language",
    "corpora/{corpus}.yaml:parts",
)


def main(corpus: str) -> None:
    """Write every part of `corpus` as parallel text, and download.json, which records its sources."""
    download = Download.load_own("corpora/{corpus}.yaml:", corpus=corpus)  # whose fields READS lists
    downloads = Downloads(Path("work/downloads"), os.environ.get("CORPUS_MIRROR"))
    with files.new_folder(Path("data/download", corpus)) as out:
        parts = {TRAIN: downloading.write_train(download, downloads, out)}
        parts |= {
            name: downloading.write_part(name, download, downloads, out) for name in download.parts if name != TRAIN
        }
        languages = {"source_language": download.source_language, "target_language": download.target_language}
        files.write_json(out / "download.json", {**languages, "parts": parts})
    last = Path("work/sources", f"{corpus}.json")
    before = files.read_json(last) if last.exists() else {}
    progress.say(corpus, *dict.fromkeys(downloading.remarks(download, parts, before)))
    files.write_json(last, parts)


if __name__ == "__main__":
    cli.run(main)
