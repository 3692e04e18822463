"""docs/models/: an excerpt is what its file says; sizes and scores are those of the code and of the last build."""

import json
import re
from itertools import pairwise
from textwrap import dedent

import pytest

from pipeline.models import interface
from pipeline.system import Build, System
from tests.test_documents import ROOT

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/models/*.md"))}
INDEX = ROOT / "docs/six-models.md"
PIECES = 2000  # of bpe_2k


def excerpts(text: str) -> list[tuple[str, str]]:
    """The file that an excerpt is from, as the text before it says, and the excerpt."""
    parts = text.split("```python\n")
    return [
        (re.findall(r"[Ff]rom\s`([\w/]+\.py)`", before)[-1], after.partition("```")[0])
        for before, after in pairwise(parts)
    ]


def stands_in(code: str, file: str) -> bool:
    """Whether lines of a file are an excerpt, wherever in the file's indentation they stand."""
    lines, count = file.splitlines(keepends=True), code.count("\n")
    return any(dedent("".join(lines[at : at + count])) == code for at in range(len(lines)))


def systems() -> dict[str, System]:
    """The systems of the default build, by their models; a model that it leaves out has no page of its own."""
    found = Build.load("build", ROOT / "params.yaml").systems()
    return {system.model: system for system in found}


def num_parameters(system: System) -> int:
    """Of its network."""
    found = interface.find(system.model)
    arch = found.Arch.load_own(f"models.{system.model}.default", f"models.{system.model}.{system.size}")
    return sum(one.numel() for one in found.Model(arch, source_size=PIECES, target_size=PIECES).parameters())


def test_every_model_has_a_page_and_a_row():
    assert set(PAGES) == set(systems())
    rows = re.findall(r"^\| \[`(\w+)`\]\(models/(\w+)\.md\) \|", INDEX.read_text(encoding="utf-8"), re.M)
    assert {row[0] for row in rows} == set(PAGES)
    assert all(name == page for name, page in rows)


@pytest.mark.parametrize("page", [INDEX.stem, *PAGES])
def test_an_excerpt_is_what_its_file_says(page):
    text = (PAGES | {INDEX.stem: INDEX.read_text(encoding="utf-8")})[page]
    found = excerpts(text)
    assert len(found) == text.count("```python") >= 1
    wrong = [code for name, code in found if not stands_in(code, (ROOT / name).read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_what_a_file_does_not_say_is_no_excerpt():
    assert stands_in("b\n    c\n", "a\n    b\n        c\n")
    assert not stands_in("b\nc\n", "a\n    b\n        c\n")
    assert not stands_in("b\nd\n", "b\nc\nd\n")


@pytest.mark.parametrize("model", PAGES)
def test_sizes_and_scores_are_those_of_the_code_and_of_the_last_build(model, monkeypatch):
    monkeypatch.chdir(ROOT)
    system = systems()[model]
    scores = json.loads((ROOT / f"metrics/{system.id}.json").read_text(encoding="utf-8"))
    size, test, compositional = (
        f"{num_parameters(system):,}",
        f"{scores['test']['bleu']:.1f}",
        f"{scores['compositional']['bleu']:.1f}",
    )
    rest = f"{scores['test']['chrf']:.1f} | {scores['validation']['loss']:.3f}"
    assert f"\n| {size} | {test} | {compositional} | {rest} |\n" in PAGES[model]
    assert re.search(rf"\[`{model}`\].* \| {size} \| {test} \| {compositional} \|\n", INDEX.read_text(encoding="utf-8"))
