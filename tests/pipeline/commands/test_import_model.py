"""`nmt import`: from a folder, a mirror's folder or the hub."""

import shutil
from pathlib import Path

import pytest

from tests.toys import marian

HUB = "hub/opus-mt-fr-en"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """The folder of a mirror, with a model and an older version of it."""
    monkeypatch.chdir(tmp_path)
    (folder := tmp_path / "mirror/huggingface.co/hub").mkdir(parents=True)
    marian.lay_out(folder / "opus-mt-fr-en", tags=("deu",))
    shutil.copytree(folder / "opus-mt-fr-en", folder / "opus-mt-fr-en@v1")
    return tmp_path / "mirror"


def test_a_folder_becomes_a_package_that_translates_and_is_exported(run, fails, mirror):
    folder = str(mirror / "huggingface.co" / HUB)
    assert run("import", folder, "--tag", "deu").out == "models/opus_mt_fr_en_deu\n"
    assert run("import", folder, "--tag", "").out == "models/opus_mt_fr_en\n"
    assert run("translate", "--model", "models/opus_mt_fr_en_deu", "le chat dort", "--beam", "1").status == 0
    argos = ("export", "--format", "argos", "--model")
    assert run(*argos, "models/opus_mt_fr_en").out == "work/export/opus_mt_fr_en.argosmodel\n"
    assert "or one of OPUS-MT without a tag" in fails(*argos, "models/opus_mt_fr_en_deu")
    taken = "models/opus_mt_fr_en: there is a package of this name; expected a new one, by --name"
    assert fails("import", folder, "--tag", "") == taken
    assert fails("import", folder, "--name", "a-b") == "--name: must be letters, digits and underscores, got 'a-b'"


def test_a_mirror_and_the_hub_are_asked_for_a_revision_and_the_named_files(run, fails, mirror, monkeypatch):
    asked = []

    def fetch(model, *, revision, cache_dir, allow_patterns):
        asked.append((model, revision, cache_dir, allow_patterns[-1]))
        if model != HUB:
            raise OSError("404")
        return str(mirror / "huggingface.co" / f"{HUB}@v1")

    monkeypatch.setenv("CORPUS_MIRROR", str(mirror))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert run("import", HUB, "--revision", "v1", "--tag", "deu", "--name", "old").out == "models/old\n"
    assert f"`huggingface.co/{HUB}@v1`" in Path("models/old/README.md").read_text()
    monkeypatch.delenv("CORPUS_MIRROR")
    assert run("import", HUB, "--tag", "deu").out == "models/opus_mt_fr_en_deu\n"
    assert asked == [(HUB, "main", Path("work/downloads/huggingface.co"), "model.safetensors")]
    assert fails("import", "hub/none").startswith("huggingface.co/hub/none@main: cannot be read, got 404; expected")
