"""Sections of the report, one by one."""

from pipeline.evaluation import html_pages, sections
from pipeline.evaluation.results import EnsembleResults


def joined(blocks):
    return "\n".join(blocks)


def test_every_part_has_its_table(make_corpus):
    shown = html_pages.markdown(sections.scores(make_corpus()))
    assert shown.startswith("Test part `test`, 3 sentences:\n\n| system |")
    assert shown.endswith("Names are short for `toy-bpe_2k-<model>-tiny`.\n")


def test_the_table_of_several_seeds_comes_before_that_of_one(seeded):
    shown = html_pages.markdown(sections.scores(seeded([5.0, 6.0], [1.0, 2.0])))
    assert shown.startswith("Mean ± standard deviation of 2 seeds, test part `test`:\n\n| system | BLEU | p | chrF |")
    assert "which the rest of the page is about:\n\nTest part `test`, 3 sentences:" in shown


def test_ensembles_come_after_the_systems(make_corpus):
    two = EnsembleResults("two", ["a", "b"], {"test": {"bleu": 50.0, "chrf": 60.0}})
    shown = html_pages.markdown(sections.scores(make_corpus(ensembles=[two])))
    assert "`.\n\nTwo systems together, test part `test`:\n\n| ensemble | systems | BLEU | chrF |" in shown


def test_every_system_has_a_page_of_attention(make_corpus):
    assert joined(sections.attention(make_corpus())).splitlines() == [
        "- [`toy-bpe_2k-first_model-tiny`](attention/toy-bpe_2k-first_model-tiny/index.html)",
        "- [`toy-bpe_2k-second_model-tiny`](attention/toy-bpe_2k-second_model-tiny/index.html)",
    ]


def test_a_training_is_told_by_its_end(make_corpus):
    row = "| `first_model` | patience | 600 | 400 | 1.234 | 61.50 | 5.23 % | 2 |"
    assert row in joined(sections.training(make_corpus()))


def test_bleu_that_was_not_measured_is_a_dash(make_corpus, make_system):
    system = make_system("first_model", 50.0)
    del system.training["best"]["validation_bleu"]
    assert "| 1.234 | – | 5.23 % |" in joined(sections.training(make_corpus(systems=[system])))


def test_losses_of_two_vocabularies_are_said_not_to_compare(make_corpus):
    one = make_corpus().tokens["bpe_2k"]
    words = "Losses per token compare only between systems with the same vocabulary"
    assert words in joined(sections.training(make_corpus(tokens={"bpe_2k": one, "bpe_8k": one})))
    assert words not in joined(sections.training(make_corpus()))


def test_data_counts_add_up_from_read_to_kept(make_corpus):
    data = joined(sections.data(make_corpus()))
    rows = [
        "| read | 1,000 | 100.00 % |",
        "| dropped: `length_ratio` | 20 | 2.00 % |",
        "| dropped: `duplicate` | 30 | 3.00 % |",
        "| kept | 950 | 95.00 % |",
    ]
    assert "\n".join(rows) in data
    assert "| `train` | 900 | 9,000 | 8,000 | 0.10 % | 0.00 % |" in data
    assert "| `train/test` | 1 | 12 | 2 | 0 | 14 |" in data
    assert "by line" not in data


def test_the_leakage_of_a_split_by_line_is_told(make_corpus):
    splitting = make_corpus().splitting | {"line_split": {"held_out": 4000, "seen": 1201, "share": 0.30025}}
    data = joined(sections.data(make_corpus(splitting=splitting)))
    assert "Had the parts been carved by line, 30.03 % of the 4,000 pairs held out" in data


def test_parameters_that_differ_stand_apart(make_corpus):
    parameters = joined(sections.parameters(make_corpus()))
    differ, same = parameters.split("The same for all of them:")
    assert "| parameter | `first_model` | `second_model` |" in differ
    assert "| `arch.width` | 50 | 70 |" in differ
    assert "| `training.updates` | 600 |" in same


def test_one_system_has_one_table_of_parameters(make_corpus, make_system):
    parameters = joined(sections.parameters(make_corpus(systems=[make_system("first_model", 50.0)])))
    assert "Where the systems differ" not in parameters
    assert "| `arch.width` | 50 |\n" in parameters
