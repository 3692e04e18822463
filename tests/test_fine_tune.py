"""A corpus that starts from a package: its weights, architecture and vocabulary, and its scores before and after."""

import csv
import re
import shutil
from pathlib import Path

import pytest

from pipeline.common import files, parts
from pipeline.common.params import ParamsError
from pipeline.packaging import start
from pipeline.packaging.vocabulary import check_spelling
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.toys import packages, systems
from tests.toys.project import SYSTEMS


@pytest.mark.slow
def test_a_package_is_trained_further_and_compared_with_itself(built, tmp_path):
    project = built.copy(tmp_path / "copy")
    pairs = list(parts.read(project.root / "data/split/toy", parts.TRAIN))[:80]
    with (project.root / "mine.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("fr", "en"), *pairs])
    given = ("--table", "mine.csv", "--source-column", "fr", "--target-column", "en", "--name", "mine")
    done = project.nmt("fine-tune", "transformer_prenorm", *given)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine.yaml: toy-bpe-transformer_prenorm-toy-1 on 80 pairs, mixed with general text" in done.stdout
    assert (
        "of this name; expected a new one as --name" in project.nmt("fine-tune", "transformer_prenorm", *given).stderr
    )

    shutil.rmtree(project.root / "models" / SYSTEMS[1])  # as `dvc checkout` does: `build` no longer names it
    assert project.repro()[-1] == "report"
    assert project.repro() == []
    system, base = "mine-package-transformer_prenorm-toy-1", SYSTEMS[1]
    before = files.read_json(project.root / f"data/score/{system}/before/scores.json")
    after, old = (files.read_json(project.root / f"metrics/{name}.json") for name in (system, base))
    assert before["general"]["bleu"]["score"] == old["test"]["bleu"]
    assert after["general"] != old["test"]
    assert {"transformer_prenorm-toy_before", "transformer_prenorm-toy"} == {
        name.removeprefix("package-") for name in files.read_json(project.root / "report/metrics.json")
    }
    card = (project.root / f"models/{system}/README.md").read_text(encoding="utf-8")
    assert f"starting from `{base}`" in card
    assert f"Licence: unknown; of {base}: " in card
    assert re.search(r"\| test part \| metric \| before \| score ", card)
    folders = (project.root / "data/vocabulary" / name for name in ("toy-bpe", "mine-package"))
    assert len({Vocabulary.load(folder).digest for folder in folders}) == 1


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("sha256: f00d", "start.sha256: must be that of models/{name}/checksums.json, got f00d; expected {sum}"),
        ("", "start.sha256: must be that of models/{name}/checksums.json, got none; expected {sum}"),
        ("sha256: {sum}", "start.package: models/{name} is no rnnsearch, got build.models: rnnsearch; expected {only}"),
    ],
)
def test_a_package_is_refused_unless_it_is_the_pinned_one(tmp_path, monkeypatch, given, fault):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    known = {"name": folder.name, "sum": files.sha256(folder / "checksums.json"), "only": "transformer_prenorm alone"}
    lines = ["start:", f"  package: models/{folder.name}", *([f"  {given}"] if given else [])]
    files.write_lines(Path("corpora/mine.yaml"), [line.format(**known) for line in lines])
    with pytest.raises(ParamsError) as error:
        start.load("mine", ["rnnsearch"])
    assert str(error.value) == f"corpora/mine.yaml: {fault.format(**known)}"


def test_text_that_a_package_cannot_spell_is_refused_with_its_characters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    systems.lay_out(tmp_path)
    vocabulary = Vocabulary.load(tmp_path / "data/vocabulary/toy-bpe_toy")
    folder, origin = tmp_path / "data/split/text", Path("models/toy")
    shard = parts.Shard(parts.TRAIN, 0, 100)
    parts.write_bitexts(folder, [shard])
    shard.write(folder, [("le chat dort dans la maison", "une pomme")] * 99 + [("ＬＥ ćhat ☃", "une pomme")])
    check_spelling(vocabulary, folder, origin)
    assert "no piece of models/toy spells ☃ on 1 line\n" in capsys.readouterr().err
    shard.write(folder, [("le chat", "une pomme Я")] * 100)
    with pytest.raises(files.DataError, match=r"target sentences must be .* unknown pieces \(Я on 100 lines\); ex"):
        check_spelling(vocabulary, folder, origin)
