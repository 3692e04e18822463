"""The report page: what stands on it, in which order, and that nothing on it is random."""

import re

from pipeline.evaluation import pages
from pipeline.evaluation.pages import Report

REPORT = Report(samples=2, seed=1)


def text(*corpora, report=REPORT):
    return "\n".join(pages.page(list(corpora), report))


def section(page, name):
    """The text of one section."""
    return page.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_the_page_has_its_sections_in_order(make_corpus):
    page = text(make_corpus())
    assert re.findall(r"^##? (.*)", page, flags=re.MULTILINE) == [
        "Translation report",
        "Scores",
        "Learning curves",
        "Data",
        "Sample translations",
        "Parameters",
        "How to repeat",
    ]
    assert "2 systems on 1 corpus: `toy` (fr → en)." in page


def test_signatures_stand_once(make_corpus):
    page = text(make_corpus(), make_corpus(name="other"))
    assert page.count("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0") == 1
    assert page.count("- chrF: `nrefs:1|version:2.6.0`") == 1


def test_only_the_metrics_scored_are_explained(make_corpus, make_system):
    page = text(make_corpus())
    assert "**BLEU** counts" in page
    assert "**TER**" not in page
    scores = {"test": {"ter": 20.0, "signatures": {"ter": "tok:tercom"}}}
    page = text(make_corpus(systems=[make_system("first_model", 1.0, scores=scores)]))
    assert "**TER** counts" in page
    assert "**BLEU** counts" not in page


def test_a_training_is_told_by_its_end(make_corpus):
    row = "| `bpe_2k-first_model-tiny` | patience | 600 | 400 | 1.234 | 61.50 | 5.23 % | 2 |"
    assert row in section(text(make_corpus()), "Learning curves")


def test_bleu_that_was_not_measured_is_a_dash(make_corpus, make_system):
    system = make_system("first_model", 50.0)
    del system.training["best"]["validation_bleu"]
    assert "| 1.234 | – | 5.23 % |" in section(text(make_corpus(systems=[system])), "Learning curves")


def test_losses_of_two_vocabularies_are_said_not_to_compare(make_corpus):
    one = make_corpus().tokens["bpe_2k"]
    words = "Losses per token compare only between systems with the same vocabulary"
    assert words in text(make_corpus(tokens={"bpe_2k": one, "bpe_8k": one}))
    assert words not in text(make_corpus())


def test_data_counts_add_up_from_read_to_kept(make_corpus):
    data = section(text(make_corpus()), "Data")
    rows = [
        "| read | 1,000 | 100.00 % |",
        "| dropped: `length_ratio` | 20 | 2.00 % |",
        "| dropped: `duplicate` | 30 | 3.00 % |",
        "| kept | 950 | 95.00 % |",
    ]
    assert "\n".join(rows) in data
    assert "| `train` | 900 | 9,000 | 8,000 | 0.10 % | 0.00 % |" in data
    assert "| `train/test` | 1 | 12 | 12 |" in data
    assert "by line" not in data


def test_the_leakage_of_a_split_by_line_is_told(make_corpus):
    splitting = make_corpus().splitting | {"line_split": {"held_out": 4000, "seen": 1201, "share": 0.30025}}
    data = section(text(make_corpus(splitting=splitting)), "Data")
    assert "Had the parts been carved by line, 30.03 % of the 4,000 pairs held out" in data


def test_samples_show_source_reference_and_the_best_system_first(make_corpus):
    samples = section(text(make_corpus(), report=Report(samples=9, seed=1)), "Sample translations")
    assert (
        "| `test` | line 1 |\n| :--- | :--- |\n| source | Le chat \\| dort. |\n| reference | The cat sleeps. |\n"
        "| `bpe_2k-second_model-tiny` | second\\_model one |\n| `bpe_2k-first_model-tiny` | first\\_model one |\n"
    ) in samples
    assert "| source | Il \\*a\\* \\<b\\> |" in samples
    assert samples.count("| *(empty)* |") == 2
    assert samples.count("| `test` | line ") == 3


def test_the_seed_chooses_the_samples(make_corpus):
    corpus = make_corpus(texts={"test": [(f"s{i}", f"t{i}") for i in range(50)]})
    for system in corpus.systems:
        system.translations["test"] = [f"h{i}" for i in range(50)]

    def lines(seed):
        return re.findall(r"line (\d+) \|", text(corpus, report=Report(samples=5, seed=seed)))

    assert lines(1) == lines(1)
    assert lines(1) == sorted(set(lines(1)), key=int)
    assert len(lines(1)) == 5
    assert lines(1) != lines(2)


def test_no_samples_no_section(make_corpus):
    assert "## Sample translations" not in text(make_corpus(), report=Report(samples=0, seed=1))


def test_parameters_that_differ_stand_apart(make_corpus):
    parameters = section(text(make_corpus()), "Parameters")
    differ, same = parameters.split("The same for all of them:")
    assert "| parameter | `bpe_2k-first_model-tiny` | `bpe_2k-second_model-tiny` |" in differ
    assert "| `arch.width` | 50 | 70 |" in differ
    assert "| `training.updates` | 600 |" in same


def test_one_system_has_one_table_of_parameters(make_corpus, make_system):
    parameters = section(text(make_corpus(systems=[make_system("first_model", 50.0)])), "Parameters")
    assert "Where the systems differ" not in parameters
    assert "| `arch.width` | 50 |\n" in parameters


def test_the_figures_stand_beside_the_page(make_corpus, tmp_path):
    pages.write(tmp_path, [make_corpus()], REPORT)
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    linked = re.findall(r"!\[.*\]\((.*)\)", page)
    assert sorted([*linked, "index.md"]) == sorted(path.name for path in tmp_path.iterdir())
    assert page == text(make_corpus())
