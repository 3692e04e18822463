"""Pages of attention: every sentence, every layer, every head."""

import re

import pytest

from pipeline.evaluation import attention_pages

LAYERS = ("encoder 1", "decoder 1", "cross 1", "encoder 2", "decoder 2", "cross 2")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_page_stands_with_its_pictures_and_its_script(tmp_path, make_attended, read_page):
    sentences = [make_attended("attention"), make_attended("attention", line=9)]
    path = attention_pages.write(tmp_path / "out", "Attention of x", sentences)
    assert names(path.parent) == ["index.html", "plotly.min.js", "sentence_1.png", "sentence_2.png"]
    page = read_page(path)
    assert page.text("h1") == page.text("title") == "Attention of x"
    assert [id for tag in ("div", "h2") for id in page.all(tag, "id")] == ["sentence_1", "sentence_2"]
    assert page.text("h2") == "test, line 3test, line 9"
    assert page.text("code") == ("▁été</s>" + "▁summer▁summer</s>") * 2
    assert "translation: summer <b>" in page.text("p")
    assert page.all("img", "src") == ["sentence_1.png", "sentence_2.png"]


def test_a_page_of_a_site_brings_no_script(tmp_path, make_attended, read_page):
    path = attention_pages.write(tmp_path / "a/b", "A", [make_attended("attention")], site=tmp_path)
    assert names(path.parent) == ["index.html", "sentence_1.png"]
    assert read_page(path).all("script", "src") == ["../../plotly.min.js"]


def test_the_same_sentences_give_the_same_bytes(tmp_path, make_attended):
    for name in ("a", "b"):
        attention_pages.write(tmp_path / name, "A", [make_attended(*LAYERS)])
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_sentence_of_no_test_part_has_its_line(tmp_path, make_attended, read_page):
    sentence = make_attended("attention", text="")
    object.__setattr__(sentence, "part", "")
    page = read_page(attention_pages.write(tmp_path, "A", [sentence]))
    assert page.text("h2") == "line 3"
    assert "(empty)" in page.text("em")


@pytest.mark.parametrize("number", [1, 2])
def test_a_model_without_attention_says_so(tmp_path, make_attended, read_page, number):
    page = read_page(attention_pages.write(tmp_path, "A", [make_attended()] * number))
    assert page.text("p").startswith("This model has no attention: ")
    assert page.text("h2") == "test, line 3" * number
    assert not page.all("img", "src")
    assert names(tmp_path) == ["index.html", "plotly.min.js"]


def test_no_sentence_is_no_proof_of_no_attention(tmp_path, read_page):
    assert "no attention" not in read_page(attention_pages.write(tmp_path, "A", [])).text("p")


def test_layer_and_head_can_be_chosen(tmp_path, make_attended):
    text = attention_pages.write(tmp_path, "A", [make_attended(*LAYERS)]).read_text(encoding="utf-8")
    kinds = ("encoder self-attention", "decoder self-attention", "cross-attention")
    names = [f"{kind}, layer {layer}" for kind in kinds for layer in (1, 2)]
    assert re.findall(r'"label":"([^"]*)"', text) == [*names, "mean of heads", "head 1", "head 2"]


def test_one_head_has_no_menu(tmp_path, make_attended):
    text = attention_pages.write(tmp_path, "A", [make_attended("attention")]).read_text(encoding="utf-8")
    assert '"label"' not in text


def test_the_mean_of_the_heads_comes_first(make_attended):
    weights = {"cross 1": [[[1.0, 0.0]] * 3, [[0.25, 0.75]] * 3]}
    grids = attention_pages.heads(make_attended(weights=weights), "cross 1")
    assert list(grids) == ["mean of heads", "head 1", "head 2"]
    assert grids["mean of heads"].values.tolist() == [[0.625, 0.375]] * 3
    assert grids["head 2"].values.tolist() == [[0.25, 0.75]] * 3
    assert (grids["head 1"].x_title, grids["head 1"].y_title) == ("source", "target written")
    assert (grids["head 1"].rows, grids["head 1"].columns) == (["▁summer", "▁summer", "</s>"], ["▁été", "</s>"])
    assert (grids["head 1"].lowest, grids["head 1"].highest) == (0, 1)


def test_the_png_shows_the_last_layer_of_each_kind(make_attended):
    assert [grid.title for grid in attention_pages.still(make_attended(*LAYERS))] == [
        "encoder self-attention, layer 2, mean of heads",
        "decoder self-attention, layer 2, mean of heads",
        "cross-attention, layer 2, mean of heads",
    ]
    assert [grid.title for grid in attention_pages.still(make_attended("attention"))] == ["attention"]


@pytest.mark.parametrize(("length", "cell"), [(2, 40), (16, 25), (60, 22)])
def test_cells_are_as_large_as_there_is_room_for(make_attended, length, cell):
    source = ["▁a"] * length
    weights = {"attention": [[[1.0] * length] * 3]}
    sentence = make_attended(source=source, weights=weights)
    assert attention_pages.heads(sentence, "attention")["mean of heads"].cell == cell
