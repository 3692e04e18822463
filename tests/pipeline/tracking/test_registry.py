"""Which version is the champion, what a version says of itself, and that the same bytes are registered once."""

import contextlib
import importlib.metadata
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline import files
from pipeline.tracking import registry
from tests.toys import packages

SAME = "the same sentences"


def version(number: int, bleu: float | None, comparable: str = SAME) -> Any:
    tags = {registry.COMPARABLE: comparable} | ({} if bleu is None else {registry.BLEU: str(bleu)})
    return SimpleNamespace(version=str(number), tags=tags)


def number(found: Any) -> str:
    return str(found.version)


class Client:
    """A registry of one model; `later` is what another stage registers while its alias is set."""

    def __init__(self, *versions: Any, later: tuple[Any, ...] = ()) -> None:
        self.versions, self.later = list(versions), list(later)
        self.model = SimpleNamespace(aliases={}, tags={})

    def get_registered_model(self, name: str) -> Any:
        return self.model

    def search_model_versions(self, where: str) -> list[Any]:
        assert where == "name='toy'"
        return self.versions

    def set_registered_model_alias(self, name: str, alias: str, chosen: str) -> None:
        self.model.aliases[alias] = int(chosen)  # as MLflow gives it back
        self.versions += self.later
        self.later = []

    def set_registered_model_tag(self, name: str, key: str, value: str) -> None:
        self.model.tags[key] = value

    @property
    def champion(self) -> str:
        registry.crown(self, "toy", SAME)
        return str(self.model.aliases.get("champion", ""))


def test_best_has_the_highest_validation_bleu() -> None:
    assert number(registry.best([version(1, 90.5), version(2, 100.0), version(3, 99.0)], SAME)) == "2"
    assert number(registry.best([version(10, 50.0), version(9, 50.0)], SAME)) == "9"  # the first among equals


def test_scores_on_other_sentences_are_not_compared() -> None:
    versions = [version(1, 99.0, "others"), version(2, 50.0), version(3, 40.0), version(4, 10.0, "others")]
    assert number(registry.best(versions, SAME)) == "2"
    assert number(registry.best(versions, "others")) == "1"


def test_versions_without_a_score_cannot_win() -> None:
    assert registry.best([], SAME) is None
    assert registry.best([version(1, None)], SAME) is None
    assert number(registry.best([version(1, 3.0), version(2, None)], SAME)) == "1"


def test_an_experiment_that_is_validated_otherwise_dethrones_nobody() -> None:
    client = Client(version(1, 50.0))
    assert client.champion == "1"
    client.versions.append(version(2, 90.0, "fewer sentences"))
    registry.crown(client, "toy", "fewer sentences", is_experiment=True)
    assert client.champion == "1"
    client.versions.append(version(3, 60.0))
    registry.crown(client, "toy", SAME, is_experiment=True)  # validated alike
    assert client.champion == "3"
    registry.crown(client, "toy", "fewer sentences")
    assert client.model.aliases["champion"] == 2
    first = Client(version(1, 9.0, "fewer sentences"))
    registry.crown(first, "toy", "fewer sentences", is_experiment=True)
    assert first.model.aliases["champion"] == 1


def test_champion_follows_better_versions() -> None:
    client = Client(version(1, 50.0))
    assert client.champion == "1"
    client.versions.append(version(2, 40.0))
    assert client.champion == "1"
    client.versions.append(version(3, 60.0))
    assert client.champion == "3"
    assert Client().champion == ""


def test_champion_moved_by_hand_stays_until_the_alias_is_removed() -> None:
    client = Client(version(1, 50.0), version(2, 40.0))
    assert client.champion == "1"
    client.model.aliases["champion"] = 2
    client.versions.append(version(3, 60.0))
    assert client.champion == "2"
    del client.model.aliases["champion"]
    assert client.champion == "3"


@pytest.mark.parametrize("calls", range(6))
def test_champion_follows_after_a_kill_at_any_call(calls: int) -> None:
    client = Client(version(1, 50.0))
    assert client.champion == "1"
    client.versions.append(version(2, 60.0))
    left = iter(range(calls))

    class Killed(Exception):
        pass

    def mortal(call: Any) -> Any:
        def until_killed(*arguments: Any) -> Any:
            if next(left, None) is None:
                raise Killed
            return call(*arguments)

        return until_killed

    names = [name for name in dir(client) if name.startswith(("get_", "search_", "set_"))]
    for name in names:
        setattr(client, name, mortal(getattr(client, name)))
    with contextlib.suppress(Killed):
        registry.crown(client, "toy", SAME)
    for name in names:
        delattr(client, name)
    client.versions.append(version(3, 90.0))
    assert client.champion == "3"


def test_a_better_version_registered_meanwhile_wins() -> None:
    assert Client(version(1, 50.0), later=(version(2, 60.0),)).champion == "2"


def test_requirements_are_the_installed_versions_without_builds() -> None:
    found = registry.requirements()
    assert f"safetensors=={importlib.metadata.version('safetensors')}" in found
    assert all(re.fullmatch(r"[\w.]+==[\w.]+", line) for line in found)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a packaged system, and its tracking store."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        packages.build(folder)
    return folder


def packaged(project: Path, sentences: int = 200) -> registry.Packaged:
    (folder,) = (project / "models").iterdir()
    return registry.Packaged.read(folder, registry.About(project / "data/split/toy", sentences))


def test_tags_tell_versions_apart(project: Path) -> None:
    tags = packaged(project).tags
    assert (tags["system"], tags["model"], tags["test/bleu"]) == (
        "toy-bpe_toy-transformer_prenorm-tiny",
        "transformer_prenorm",
        "41.26",
    )
    assert tags["validation_bleu"] == "81.5"
    assert tags["nmt.digest"] == files.sha256(packaged(project).folder / "checksums.json")


def test_what_was_validated_is_compared(project: Path, tmp_path: Path) -> None:
    first = packaged(project).about.comparable
    assert first.endswith(", 200 sentences")
    assert packaged(project, 100).about.comparable != first
    for side, line in (("source", "le chat dort"), ("target", "another")):
        files.write_lines(tmp_path / f"validation.{side}.txt", [line])
    assert registry.About(tmp_path, 200).comparable != first


def test_saved_model_is_code_and_names_no_place(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.models import Model

    monkeypatch.chdir(project)
    relative = packaged(Path())
    registry.save(relative, tmp_path / "model", Model())
    names = {path.relative_to(tmp_path / "model").as_posix() for path in (tmp_path / "model").rglob("*")}
    assert {"served.py", "requirements.txt", "input_example.json", "code/pipeline/system.py"} <= names
    assert not [name for name in names if name.endswith((".pkl", ".pyc"))]
    text = (tmp_path / "model/MLmodel").read_text()
    assert "model_code_path: served.py" in text
    assert str(tmp_path) not in text
    assert str(registry.CODE) not in text
    signature = Model.load(str(tmp_path / "model")).signature
    assert [column.name for column in signature.inputs.inputs] == ["source"]
    assert [column.name for column in signature.outputs.inputs] == ["translation"]
    assert [(param.name, param.default) for param in signature.params.params] == [
        ("beam_size", 3),
        ("length_penalty", 0.6),
    ]
    assert "le chat dort" in (tmp_path / "model/input_example.json").read_text(encoding="utf-8")
