"""A sample is all where there are few, else seeded and spread."""

from pipeline.vocabularies.sampling import sample


def test_the_sample_is_all_where_there_are_few():
    assert sample(5, 5, seed=1).tolist() == [True] * 5
    assert sample(0, 5, seed=1).tolist() == []


def test_the_sample_is_seeded_and_not_the_first():
    chosen = sample(1000, 100, seed=1)
    assert chosen.sum() == 100
    assert 0 < chosen[:100].sum() < 50
    assert chosen.tolist() == sample(1000, 100, seed=1).tolist()
    assert chosen.tolist() != sample(1000, 100, seed=2).tolist()
