"""`nmt import`: from a folder, a mirror's folder or the hub."""

import shutil
from pathlib import Path

import pytest

from tests.toys import marian

HUB = "hub/opus-mt-fr-en"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """The folder of a mirror, with one model."""
    monkeypatch.chdir(tmp_path)
    marian.lay_out(tmp_path / "mirror/huggingface.co" / HUB)
    return tmp_path / "mirror"


def test_a_folder_becomes_a_package_that_translates_and_is_exported(run, fails, mirror):
    folder = str(mirror / "huggingface.co" / HUB)
    assert run("import", folder).out == "models/opus_mt_fr_en\n"
    assert run("translate", "--model", "models/opus_mt_fr_en", "le chat dort", "--beam", "1").status == 0
    said = run("export", "--model", "models/opus_mt_fr_en", "--format", "argos")
    assert said.out == "work/export/opus_mt_fr_en.argosmodel\n"
    taken = "there is a package of this name; expected a new one, by --name"
    assert fails("import", folder) == f"models/opus_mt_fr_en: {taken}"
    assert fails("import", folder, "--name", "a-b") == "--name: must be letters, digits and underscores, got 'a-b'"
    assert "no such folder, nor an id of the hub" in fails("import", "../x")


def test_a_mirror_has_a_folder_for_each_revision(run, mirror, monkeypatch):
    monkeypatch.setenv("CORPUS_MIRROR", str(mirror))
    shutil.copytree(mirror / "huggingface.co" / HUB, mirror / "huggingface.co" / f"{HUB}@v1")
    assert run("import", HUB, "--revision", "v1", "--name", "old").out == "models/old\n"
    assert f"huggingface.co/{HUB}@v1" in Path("models/old/README.md").read_text()


def test_the_hub_is_asked_for_the_named_files_alone(run, fails, mirror, monkeypatch):
    asked = []

    def fetch(model, *, revision, cache_dir, allow_patterns):
        asked.append((model, revision, cache_dir, allow_patterns[-1]))
        if model != HUB:
            raise OSError("404")
        return str(shutil.copytree(mirror / "huggingface.co" / HUB, "work/c0ffee", dirs_exist_ok=True))

    monkeypatch.delenv("CORPUS_MIRROR", raising=False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert run("import", HUB).out == "models/opus_mt_fr_en\n"
    assert asked == [(HUB, "main", Path("work/downloads/huggingface.co"), "model.safetensors")]
    assert f"imported from `huggingface.co/{HUB}@c0ffee`" in Path("models/opus_mt_fr_en/README.md").read_text()
    assert fails("import", "hub/none").startswith("huggingface.co/hub/none@main: cannot be read, got 404; expected")


def test_a_tag_is_part_of_the_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    marian.lay_out(tmp_path / "opus-mt-fr-mul", tags=("deu",))
    assert run("import", "opus-mt-fr-mul", "--tag", "deu").out == "models/opus_mt_fr_mul_deu\n"
    tagged = run("export", "--model", "models/opus_mt_fr_mul_deu", "--format", "argos")
    assert "or one of OPUS-MT without a tag" in tagged.err
