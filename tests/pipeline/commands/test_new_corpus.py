"""`nmt new-corpus`: what it writes, what it refuses, and that it is all or nothing."""

import gzip
import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from pipeline.commands import new_corpus, oddities, own_texts
from pipeline.common.params import read_yaml
from pipeline.preparation import splits

PAIRS = 500
GERMAN = [f"Der Satz {number} ist kurz." for number in range(PAIRS)]
ENGLISH = [f"Sentence {number} is short." for number in range(PAIRS)]
SIDES = ("--source", "mine.de", "--target", "mine.en")
CODES = ("--source-language", "de", "--target-language", "en")


def write(path: str, lines: list[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch) -> Path:
    """The project's parameter files and two files of the user's."""
    for name in ("configs", "corpora"):
        shutil.copytree(project_root / name, tmp_path / name)
    shutil.copy(project_root / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("my").mkdir()
    write("mine.de", GERMAN)
    write("mine.en", ENGLISH)
    return tmp_path


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "work" not in path.parts}


def build() -> dict[str, list[str]]:
    return read_yaml(Path("params.yaml"))["build"]


def test_two_files_become_a_corpus_with_one_transformer(folder, run):
    said = run("new-corpus", "mine", *SIDES)
    assert said.out.startswith(
        "corpora/mine.yaml: German (de) to English (en), 500 pairs; `nmt repro` builds transformer_modern tiny"
    )
    corpus = read_yaml(Path("corpora/mine.yaml"))
    assert corpus["parts"] == {"train": {"kind": "local", "source": "my/mine.train.de", "target": "my/mine.train.en"}}
    assert (corpus["source_language"], corpus["target_language"]) == ("de", "en")
    assert corpus["split"] == {"validation_share": 0.1, "test_share": 0.1}
    assert corpus["training"]["updates"] == 400
    keys = ("dropout", "attention_dropout", "feed_forward_dropout")
    assert corpus["models"] == {"transformer_modern": dict.fromkeys(keys, 0.3)}
    assert Path("my/mine.train.de").read_bytes() == Path("mine.de").read_bytes()
    assert {axis: build()[axis] for axis in ("corpora", "vocabularies", "models", "sizes")} == {
        "corpora": ["mine"],
        "vocabularies": ["bpe_2k"],
        "models": ["transformer_modern"],
        "sizes": ["tiny"],
    }


def test_only_build_changes_on_the_page(folder, run):
    before = Path("params.yaml").read_text(encoding="utf-8")
    run("new-corpus", "mine", *SIDES, "--add")
    lines = Path("params.yaml").read_text(encoding="utf-8").splitlines()
    lines.remove("  - mine")
    assert lines == before.splitlines()


def test_models_and_sizes_can_be_chosen(folder, run):
    said = run("new-corpus", "mine", *SIDES, "--models", "rnnsearch,gru_attention", "--sizes", "tiny,small")
    assert (build()["models"], build()["sizes"]) == (["rnnsearch", "gru_attention"], ["tiny", "small"])
    assert "builds rnnsearch tiny with bpe_2k, rnnsearch small with bpe_2k, gru_attention tiny" in said.out
    run("new-corpus", "other", *SIDES, "--sizes", "small")
    assert [read_yaml(Path(f"corpora/{name}.yaml"))["models"] for name in ("mine", "other")] == [{}, {}]


@pytest.mark.parametrize("given", [["test"], ["validation"], ["validation", "test"]])
def test_a_part_that_is_given_is_not_carved(folder, run, given):
    write("some.de", GERMAN[:20])
    write("some.en", ENGLISH[:20])
    run("new-corpus", "mine", *SIDES, *(word for part in given for word in own_files(part)))
    corpus = read_yaml(Path("corpora/mine.yaml"))
    for part in given:
        own = {"kind": "local", "source": f"my/mine.{part}.de", "target": f"my/mine.{part}.en"}
        assert corpus["parts"][part] == own
    assert corpus["split"] == {f"{part}_share": 0.0 if part in given else 0.1 for part in ("validation", "test")}


def own_files(part):
    return f"--{part}-source", "some.de", f"--{part}-target", "some.en"


def test_several_texts_become_bitexts_by_their_names(folder, run, fails):
    Path("other").mkdir()
    write("other/mine.de.txt", ["Ein Satz mehr.", "Noch einer."])
    write("other/mine.en.txt", ["One more sentence.", "Another one."])
    write("talks-1.tsv", ["Hallo.\tHello."])
    texts = (*SIDES, "--source", "other/mine.de.txt", "--target", "other/mine.en.txt", "--table", "talks-1.tsv")
    said = run("new-corpus", "shop", *texts)
    assert said.out.startswith("corpora/shop.yaml: German (de) to English (en), 503 pairs; ")
    assert read_yaml(Path("corpora/shop.yaml"))["parts"]["train"] == [
        {"name": "mine", "kind": "local", "source": "my/shop.mine.de", "target": "my/shop.mine.en"},
        {"name": "mine_2", "kind": "local", "source": "my/shop.mine_2.de", "target": "my/shop.mine_2.en"},
        {
            "name": "talks_1",
            "kind": "local",
            "table": "my/shop.talks_1.tsv",
            "source_column": 1,
            "target_column": 2,
        },
    ]
    wrong = "parts.train.talks_1: must have either source and target or table and"
    assert wrong in fails("new-corpus", "other", *SIDES, "--target", "talks-1.tsv")


def test_what_is_odd_is_said(folder, run):
    write("mine.en", [f"Sentence number {number} of the book is for you." for number in range(PAIRS - 50)] + [""] * 50)
    write("test.de", GERMAN[:3])
    write("test.en", [ENGLISH[0], "", " "])
    said = run(
        "new-corpus", "mine", *SIDES, "--test-source", "test.de", "--test-target", "test.en", "--target-language", "de"
    )
    assert said.err.splitlines() == [
        "warning: corpora/mine.yaml: parts.test: 2 of 3 pairs are blank on one side or both",
        "corpora/mine.yaml/train  cleaning drops 50 of 500 pairs: empty 50",
        "warning: corpora/mine.yaml: target_language: is 'de', but the text reads like 'en'; "
        "expected the sides in order",
    ]
    assert "German (de) to German (de), 450 pairs; " in said.out


ENGLISH_LINES = ["The dog of the house and that cat are for you.", "He has not gone to school today."]


@pytest.mark.parametrize(
    ("lines", "tag", "code"),
    [
        (ENGLISH_LINES, "de_AT", "en"),
        (ENGLISH_LINES, "ru", "en"),
        (["Собака лает, потому что она голодна."], "fr", "ru"),
        (["狗叫了，因为它饿了。"], "ja", "zh"),
        (ENGLISH_LINES, "en-GB", None),
        (["Hva gjør du i morgen? Jeg vet ikke hvorfor hunden bjeffer."], "nb", None),
        (ENGLISH_LINES, "tlh", None),  # which nobody knows
        (["1 2 3", "Anna 7,50"], "ru", None),
        ([], "en", None),
    ],
)
def test_only_a_text_that_is_plainly_in_another_language_is_named(lines, tag, code):
    assert oddities.other_language(lines, tag) == code


@pytest.mark.parametrize("pairs", [9, 10, 100])
def test_of_few_pairs_each_part_gets_some(folder, run, pairs):
    write("mine.de", GERMAN[:pairs])
    write("mine.en", ENGLISH[:pairs])
    assert run("new-corpus", "mine", *SIDES).status == 0
    splitting = splits.Splitting.load("split", "corpora/mine.yaml:split")
    carved = splits.carve(zip(GERMAN[:pairs], ENGLISH[:pairs], strict=True), splitting)
    assert {part for part, _ in carved} == {"train", "validation", "test"}


def test_packed_files_and_files_in_my_are_taken_as_they_are(folder, run):
    Path("my/here.de.gz").write_bytes(gzip.compress(Path("mine.de").read_bytes()))
    run("new-corpus", "mine", "--source", "my/here.de.gz", "--target", "mine.en")
    train = read_yaml(Path("corpora/mine.yaml"))["parts"]["train"]
    assert train == {"kind": "local", "source": "my/here.de.gz", "target": "my/mine.train.en"}


@pytest.mark.parametrize(
    ("name", "options", "keys"),
    [
        ("mine.tsv", (), {"source_column": 1, "target_column": 2}),
        ("mine.tsv", ("--source-column", "3"), {"source_column": 3, "target_column": 2}),
        ("mine.csv", ("--quoting", "raw"), {"source_column": 1, "target_column": 2, "quoting": "raw"}),
    ],
)
def test_a_table(folder, run, name, options, keys):
    separator = "," if name == "mine.csv" else "\t"
    write(name, [separator.join((*pair, pair[0])) for pair in zip(GERMAN, ENGLISH, strict=True)])
    assert run("new-corpus", "mine", "--table", name, *CODES, *options).status == 0
    train = read_yaml(Path("corpora/mine.yaml"))["parts"]["train"]
    assert train == {"kind": "local", "table": f"my/{name.replace('.', '.train.')}", **keys}


HUB = ("--hub", "some/set", *CODES)


@pytest.fixture
def data_set(folder, monkeypatch) -> Path:
    """A data set of 500 rows on the hub, in a mirror's folder."""
    monkeypatch.setenv("CORPUS_MIRROR", "mirror")
    (path := folder / "mirror/huggingface.co/datasets/some/set/train.csv").parent.mkdir(parents=True)
    write(str(path), ["de,en", *map(",".join, zip(GERMAN, ENGLISH, strict=True))])
    return path.parent


COLUMNS = ("--source-column", "de", "--target-column", "en")


def test_a_small_data_set_is_counted(data_set, run):
    said = run("new-corpus", "mine", *HUB, *COLUMNS)
    assert said.out.startswith(
        "corpora/mine.yaml: German (de) to English (en), 500 pairs; `nmt repro` builds transformer_modern tiny"
    )
    assert read_yaml(Path("corpora/mine.yaml"))["split"] == {"validation_share": 0.1, "test_share": 0.1}


def test_of_a_large_data_set_some_are_read_and_the_rest_is_planned_by_its_card(data_set, run, monkeypatch):
    info = {"splits": [{"name": "train", "num_examples": 2_000_000, "num_bytes": 1}]}
    (data_set / "README.md").write_text(f"---\n{json.dumps({'dataset_info': info})}\n---\n")
    monkeypatch.setattr("pipeline.commands.survey.SAMPLE", 100)
    assert (
        ", 2,000,000 pairs; `nmt repro` builds transformer_modern base" in run("new-corpus", "mine", *HUB, *COLUMNS).out
    )
    corpus = read_yaml(Path("corpora/mine.yaml"))
    assert corpus["split"] == {"validation_share": 0.0005, "test_share": 0.0005}
    assert corpus["training"]["updates"] == 2500  # in 25,000 tokens each: four passes are fewer


def test_where_nothing_says_how_many_pairs_there_are_updates_are_asked_for(folder, run, fails):
    said = run("new-corpus", "mine", *HUB)
    assert (said.status, said.err.splitlines()[-1]) == (
        1,
        "error: --updates: is missing, and nothing says how many pairs the text has; expected the updates of the "
        "training, such as 100000",
    )
    assert "of unknown size" in run("new-corpus", "mine", *HUB, "--updates", "40000").out
    corpus = read_yaml(Path("corpora/mine.yaml"))
    keys = {"kind": "hub", "dataset": "some/set", "revision": "main", "split": "train"}
    assert corpus["parts"]["train"] == keys | {"translation_field": "translation"}
    assert (corpus["training"]["updates"], corpus["training"]["validation_interval"]) == (40_000, 4000)


MEMORY = "".join(
    f'<tu><tuv xml:lang="en-US"><seg>{english}</seg></tuv><tuv xml:lang="de-DE"><seg>{german}</seg></tuv></tu>\n'
    for german, english in zip(GERMAN, ENGLISH, strict=True)
)


def opus_entry(corpus, pairs):
    numbers = {"alignment_pairs": pairs, "source_tokens": 20 * pairs, "target_tokens": 10 * pairs, "size": 1}
    names = {"version": "v1", "source": "de", "target": "en", "preprocessing": "moses", "latest": "True"}
    return {"corpus": corpus, **names, **numbers}


def test_own_texts_come_before_the_hub_and_opus_whose_list_says_how_large_they_are(data_set, run):
    """Of OPUS's corpora nothing is fetched."""
    (path := Path("mirror/opus.nlpl.eu/opusapi/de-en.json")).parent.mkdir(parents=True)
    path.write_text(json.dumps({"corpora": [opus_entry("Europarl", 1_900_000), opus_entry("NLLB", 10**8)]}))
    Path("own.tmx").write_text(f"<tmx><body>{MEMORY.replace('Satz', 'Text')}</body></tmx>", encoding="utf-8")
    public = ("--opus", "NLLB/v1", "--opus", "Europarl/v1", "--hub", "some/set", "--source-language", "de")
    said = run(
        "new-corpus",
        "shop",
        "--tmx",
        "own.tmx",
        "--table",
        "mirror/huggingface.co/datasets/some/set/train.csv",
        *public,
        *COLUMNS,
    )
    assert ", 101,901,000 pairs; " in said.out
    corpus = read_yaml(Path("corpora/shop.yaml"))
    assert [item["name"] for item in corpus["parts"]["train"]] == ["train", "own", "set", "nllb", "europarl"]
    assert corpus["parts"]["train"][-1] == {"name": "europarl", "kind": "opus", "corpus": "Europarl/v1"}
    assert (corpus["clean"], corpus["split"]["test_share"]) == ({"language": True}, 9.8e-06)


@pytest.mark.parametrize(
    ("memory", "options", "codes"),
    [
        (MEMORY, (), ("en", "de")),
        (MEMORY, ("--source-language", "de"), ("de", "en")),
        (MEMORY.replace("de-DE", "en-GB"), (), ("en-US", "en-GB")),
    ],
)
def test_a_memory_says_its_languages(folder, run, memory, options, codes):
    Path("own.tmx").write_text(f"<tmx><body>{memory}</body></tmx>", encoding="utf-8")
    assert run("new-corpus", "mine", "--tmx", "own.tmx", *options).status == 0
    corpus = read_yaml(Path("corpora/mine.yaml"))
    assert (corpus["source_language"], corpus["target_language"]) == codes
    assert corpus["parts"]["train"] == {"kind": "local", "tmx": "my/mine.train.tmx"}


def test_the_other_direction_has_the_same_files(folder, run, fails):
    write("talks.tsv", ["Hallo.\tHello."])
    run("new-corpus", "shop_de_en", *SIDES, "--table", "talks.tsv", "--reverse")
    there, back = (read_yaml(Path(f"corpora/{name}.yaml")) for name in ("shop_de_en", "shop_en_de"))
    assert build()["corpora"] == ["shop_de_en", "shop_en_de"]
    assert (back["source_language"], back["target_language"]) == ("en", "de")
    assert back["parts"]["train"] == [
        {"name": "mine", "kind": "local", "target": "my/shop_de_en.mine.de", "source": "my/shop_de_en.mine.en"},
        {"name": "talks", "kind": "local", "table": "my/shop_de_en.talks.tsv", "target_column": 1, "source_column": 2},
    ]
    assert {key: back[key] for key in ("split", "training")} == {key: there[key] for key in ("split", "training")}
    run("new-corpus", "mine", "--source", "my/shop_de_en.mine.de", "--target", "my/shop_de_en.mine.en", "--reverse")
    assert build()["corpora"] == ["mine", "mine_reversed"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("a-b", *SIDES), "NAME: must be letters, digits and underscores, got 'a-b'"),
        (("phrasebook_fr_en", *SIDES), "corpora/phrasebook_fr_en.yaml: there is a corpus of this name"),
        (("mine", "--source", "none.de", "--target", "mine.en"), "none.de: no such file"),
        (("mine", "--tmx", "none.tmx"), "none.tmx: no such file"),
        (("mine", "--tmx", "one.tmx"), "one.tmx: is in de; expected two, or --source-language and --target-language"),
        (("mine", "--opus", "Europarl", *CODES), "parts.train.corpus: must be a corpus and its version, such as"),
        (("phrasebook_en_fr", *SIDES, "--source-language", "en", "--target-language", "fr", "--reverse"), "there is a"),
        (("mine", "--source", "mine.de", *CODES), "must have either source and target or"),
        (("mine", "--source", "mine.de", "--target", "short.en"), "mine.de has 500 lines, short.en 499: the two files"),
        (
            ("mine", "--source", "mine.de", "--target", "empty.en"),
            "corpora/mine.yaml: cleaning dropped every pair, got empty 500 of 500 read",
        ),
        (("mine", "--source", "mine.de", "--target", "plain"), "--target-language: is missing"),
        (("mine", "--source", "few.de", "--target", "few.en"), "too little text to hold some out, got 2 pairs"),
        (("mine", *SIDES, "--test-source", "few.de", "--test-target", "blank.en"), "parts.test: holds no text, got 2"),
        (("mine", *SIDES, "--quoting", "raw"), "quoting: must be that of a table, got 'raw' and no table"),
        (("mine", *SIDES, "--models", "rnnserch"), "unknown name, got 'rnnserch'; nearest is 'rnnsearch'"),
        (("mine", *SIDES, "--sizes", "tny"), "unknown size of transformer_modern, got 'tny'; nearest is 'tiny'"),
    ],
)
def test_what_is_refused_changes_nothing(folder, fails, options, fault):
    write("short.en", ENGLISH[:-1])
    write("empty.en", [""] * PAIRS)
    write("plain", ENGLISH)
    write("few.de", GERMAN[:2])
    write("few.en", ENGLISH[:2])
    write("blank.en", ["", " "])
    write("one.tmx", ['<tmx><body><tu><tuv xml:lang="de"><seg>a</seg></tuv></tu></body></tmx>'])
    before = content(folder)
    assert fault in fails("new-corpus", *options)
    assert content(folder) == before


def test_a_corpus_that_build_names_may_be_gone(folder, run):
    for name in build()["corpora"]:
        Path(f"corpora/{name}.yaml").unlink()
    assert run("new-corpus", "mine", *SIDES).status == 0


def test_an_interruption_changes_nothing(folder, monkeypatch, run):
    before = content(folder)
    monkeypatch.setattr(new_corpus.catalogue, "check", Mock(side_effect=KeyboardInterrupt))  # once all is written
    run("new-corpus", "mine", *SIDES)
    assert content(folder) == before


@pytest.mark.parametrize(
    ("option", "file", "code"),
    [(None, "train.DE", "de"), (None, "train.de.bak", "de"), ("FR", "train.de", "fr"), ("tlh", "a", "tlh")],
)
def test_languages_have_one_form(option, file, code):
    texts = own_texts.Texts(source=[Path(file)])
    assert own_texts.languages((option, "en"), texts) == (code, "en")


@pytest.mark.parametrize(
    ("pair", "warning"),
    [
        (("Der Hund bellt .", "The dog &apos;s"), "look tokenised, such as 'Der Hund bellt .'"),
        (("Der Hund bellt .", "The dog &apos;s"), "1 of 1 lines of target have entities of HTML"),
        (("Deutsch", "target_text"), "1 of 1 lines of target look like a name of a column, such as 'target_text'"),
        (("Der BÃ¤r", "The bear"), "1 of 1 lines of source are UTF-8 read as Windows-1252, such as 'Der BÃ¤r'"),
        (("der hund", "The dog"), "1 of 1 lines of source have letters of one case, such as 'der hund'"),
        (("Der Hund", "THE DOG"), "1 of 1 lines of target have letters of one case, such as 'THE DOG'"),
        (("Der Bär © 42 €", "这只狗"), None),
        (("<p>Der Hund</p>", "The dog"), "lines of source have tags that the other side lacks"),
        (("Où est <b>la</b> gare ?", "Where is <b>R&D</b>; x < y?"), None),
    ],
)
def test_odd_lines_are_counted_with_an_example(pair, warning):
    odd = oddities.Oddities(("de", "en"))
    odd.look_at(pair)
    assert any(warning in line for line in odd.lines()) if warning else not list(odd.lines())


def test_lines_one_off_are_told_by_their_numbers():
    aligned = [(f"Haus {number}", f"House {number}") for number in range(100, 130)]
    assert not list(oddities.misaligned(aligned, ("de", "en")))
    moved = [(source, target) for (source, _), (_, target) in zip(aligned, aligned[1:] + aligned[:1], strict=True)]
    [line] = oddities.misaligned(moved, ("de", "en"))
    assert line.startswith("30 of 30 pairs with numbers have different ones, such as 'Haus 100 | House 101'; expected")


def test_swapped_lines_are_counted():
    pairs = [("Der Hund ist im Garten und bellt.", "The dog is in the garden and barks.")] * 99
    [line] = oddities.languages([*pairs, pairs[0][::-1]], ("de", "en"))
    assert line.startswith("1 of 100 pairs looked at have a line in the other side's language, such as 'The dog is")


def test_of_a_large_corpus_a_thousand_pairs_are_held_out(folder, run, monkeypatch):
    """Its first pairs, which are looked at, may have none of them."""
    monkeypatch.setattr("pipeline.commands.survey.SAMPLE", 100)
    monkeypatch.setattr("pipeline.commands.survey.held_out_share", lambda size: 1e-9)
    run("new-corpus", "mine", *SIDES)
    assert read_yaml(Path("corpora/mine.yaml"))["split"]["test_share"] == 0.1
