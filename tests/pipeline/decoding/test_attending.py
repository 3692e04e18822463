import pytest
import torch

from pipeline.common.params import ParamsError
from pipeline.compute import ids
from pipeline.decoding import greedy
from pipeline.decoding.attending import Attending, choose, likeliest, reliance, weights, written
from tests.toys import networks

CPU = torch.device("cpu")
SECTION = {"sentences": 3, "min_words": 3, "max_words": 5, "max_length_offset": 7, "seed": 1}
LINES = ["a b c", "a", "", "a b c d", "a b c d e f", "  ", "a b c d e", "a b", "e d c", "d c b a"]


def attending(**changed):
    return Attending.model_validate(SECTION | changed)


def test_lines_of_the_lengths_asked_for_come_first_and_none_without_a_word():
    drawn = {tuple(choose(LINES, attending(seed=seed), "test")) for seed in range(20)}
    assert len(drawn) > 5
    assert all(list(indices) == sorted(set(indices) & {0, 3, 6, 8, 9}) for indices in drawn)
    assert {0, 3, 6, 8, 9} < set(choose(LINES, attending(sentences=6), "test"))
    assert choose(LINES, attending(sentences=99), "test") == [0, 1, 3, 4, 6, 7, 8, 9]


def test_a_draw_is_a_function_of_seed_and_part():
    many = ["a b c"] * 200
    first = choose(many, attending(), "test")
    assert choose(many, attending(), "test") == first
    assert first not in (choose(many, attending(seed=2), "test"), choose(many, attending(), "other"))


def test_eos_is_written_unless_the_length_ran_out():
    assert written([5, 6], 3) == [5, 6, ids.EOS]
    assert written([5, 6], 2) == [5, 6]
    assert written([], 0) == [ids.EOS]  # nothing may be written: there is still a row to look at


def test_likeliest_is_greedy(drawn, padded):
    [expected] = greedy.decode(drawn(9), padded([[5, 4, 6]]), [12])
    assert likeliest(drawn(9), [5, 4, 6], 12, CPU) == written(expected.ids, 12)


@pytest.mark.parametrize("name", networks.NAMES)
def test_rows_are_the_steps_that_write_the_output_by_every_model(name):
    model = networks.build(name)
    exact = model.attention(torch.tensor([[5, 6, ids.EOS]]), torch.tensor([[ids.BOS, 7]]))
    found = weights(model, [5, 6], [7, ids.EOS], CPU)
    assert list(found) == list(exact)
    for key, heads in found.items():
        torch.testing.assert_close(torch.tensor(heads), exact[key][0], atol=5.1e-5, rtol=0)  # four decimals


@pytest.mark.parametrize("name", networks.NAMES)
def test_reliance_is_what_one_pass_without_a_stretch_loses(name):
    model, given = networks.build(name), torch.tensor([[ids.BOS, 7, 8]])
    with torch.inference_mode():
        sources = (torch.tensor([[*pieces, ids.EOS]]) for pieces in ([5, 6, 9], [5]))
        whole, rest = (model.logits(model.hidden(source, given)).log_softmax(2)[0] for source in sources)
    losses = (whole - rest)[range(3), [7, 8, ids.EOS]].clamp(min=0).numpy()
    found = reliance(model, [5, 6, 9], [7, 8, ids.EOS], slice(1, None), CPU)
    assert found == pytest.approx(losses / max(losses.max(), 1e-9), abs=1e-4)


def test_faults_of_the_section_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("attend: {sentences: 1, min_words: 4, max_words: 3, max_length_offset: 1, seed: 1}")
    with pytest.raises(ParamsError, match=r"attend\.max_words: must be at least min_words 4, got 3$"):
        Attending.load(f"{path}:attend")
