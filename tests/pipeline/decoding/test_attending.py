from pathlib import Path

import pytest
import torch

from pipeline import ids
from pipeline.decoding import greedy
from pipeline.decoding.attending import Attending, choose, likeliest, weights, written
from pipeline.params import ParamsError
from tests.toys import networks

CPU = torch.device("cpu")
SECTION = {"sentences": 3, "min_words": 3, "max_words": 5, "max_length_offset": 7, "seed": 1}
LINES = ["a b c", "a", "", "a b c d", "a b c d e f", "  ", "a b c d e", "a b", "e d c", "d c b a"]


def attending(**changed):
    return Attending.model_validate(SECTION | changed)


def test_as_many_as_asked_for_in_order_and_of_the_lengths_asked_for():
    drawn = {tuple(choose(LINES, attending(seed=seed), "test")) for seed in range(20)}
    assert len(drawn) > 5
    for indices in drawn:
        assert list(indices) == sorted(set(indices))
        assert len(indices) == 3
        assert set(indices) <= {0, 3, 6, 8, 9}


def test_others_where_there_are_too_few_but_none_without_a_word():
    assert choose(LINES, attending(sentences=8), "test") == [0, 1, 3, 4, 6, 7, 8, 9]
    assert choose(LINES, attending(sentences=99), "test") == [0, 1, 3, 4, 6, 7, 8, 9]
    assert {0, 3, 6, 8, 9} < set(choose(LINES, attending(sentences=6), "test"))
    assert choose(["", " "], attending(), "test") == []


def test_a_draw_is_a_function_of_seed_and_part():
    many = ["a b c"] * 200
    first = choose(many, attending(), "test")
    assert choose(many, attending(), "test") == first
    assert choose(many, attending(seed=2), "test") != first
    assert choose(many, attending(), "other") != first


def test_eos_is_written_unless_the_length_ran_out():
    assert written([5, 6], 3) == [5, 6, ids.EOS]
    assert written([5, 6], 2) == [5, 6]
    assert written([], 1) == [ids.EOS]
    assert written([], 0) == [ids.EOS]  # nothing may be written: there is still a row to look at


def test_likeliest_is_greedy(drawn, padded):
    model = drawn(9)
    for source in ([5, 4, 6], [4]):
        [expected] = greedy.decode(model, padded([source]), [12])
        assert likeliest(model, source, 12, CPU) == written(expected, 12)


class Looking:
    """Weights that tell what they were asked for."""

    def attention(self, source, target_input):
        self.asked = source.tolist(), target_input.tolist()
        assert not torch.is_grad_enabled()
        rows, columns = target_input.shape[1], source.shape[1]
        even = torch.full((1, 2, rows, columns), 1 / 3)
        even[0, 1, 0, 0] = 0.00004
        return {"cross 1": even, "encoder 1": torch.eye(columns)[None, None]}


def test_rows_are_the_steps_that_write_the_output():
    model = Looking()
    found = weights(model, [5, 6], [7, 8, 9, ids.EOS], CPU)
    assert model.asked == ([[5, 6, ids.EOS]], [[ids.BOS, 7, 8, 9]])
    assert list(found) == ["cross 1", "encoder 1"]
    assert found["cross 1"] == [[[0.3333] * 3] * 4, [[0.0, 0.3333, 0.3333], *[[0.3333] * 3] * 3]]
    assert found["encoder 1"] == [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]


@pytest.mark.parametrize("name", networks.NAMES)
def test_every_model_is_looked_at_as_it_is(name):
    model = networks.build(name)
    found = weights(model, [5, 6], [7, ids.EOS], CPU)
    exact = model.attention(torch.tensor([[5, 6, ids.EOS]]), torch.tensor([[ids.BOS, 7]]))
    assert list(found) == list(exact)
    for key, heads in found.items():
        torch.testing.assert_close(torch.tensor(heads), exact[key][0], atol=5.1e-5, rtol=0)


def test_faults_of_the_section_are_named(tmp_path: Path):
    path = tmp_path / "params.yaml"
    path.write_text("attend: {sentences: 0, min_words: 4, max_words: 3, max_length_offset: 0, seed: -1}")
    with pytest.raises(ParamsError) as caught:
        Attending.load("attend", path)
    assert [line.removeprefix(f"{path}: attend.") for line in str(caught.value).splitlines()] == [
        "sentences: should be greater than 0, got 0",
        "max_length_offset: should be greater than 0, got 0",
        "seed: should be greater than or equal to 0, got -1",
    ]
    path.write_text("attend: {sentences: 1, min_words: 4, max_words: 3, max_length_offset: 1, seed: 1}")
    with pytest.raises(ParamsError, match=r"attend\.max_words: must be at least min_words 4, got 3$"):
        Attending.load("attend", path)
