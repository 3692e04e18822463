"""Terms as people list them, and where they stand in a line."""

import pytest

from pipeline.common.files import DataError
from pipeline.decoding.glossary import Glossary
from pipeline.decoding.markup import separate, terms
from tests.pipeline.decoding.test_texts import VOCABULARY

FILE = "\ufeff# terms\n\nVerstärker\tamplifier \r\nPumpe\tpump\nrote  Pumpe\tthe pump\niPod\tiPod\nC++\tCpp\n泵\tbeng\n"
FAULTS = "a\tb\na\tc\nd\n\te\nf\tg\th\na\tb\n"


@pytest.fixture
def read(tmp_path):
    def written(text):
        (tmp_path / "terms.tsv").write_text(text, encoding="utf-8", newline="")
        return Glossary(tmp_path / "terms.tsv")

    return written


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Der Verstärker, das Verstärkerkabel", ["amplifier"]),
        ("Der Versta\u0308rker, dazu iPod/C++.", ["amplifier", "iPod", "Cpp"]),
        ("Eine rote\u00a0Pumpe und Pumpe\u0301, PUMPE, pumpe", ["the pump"]),
        ("Rote Pumpe? Ja. Rote Pumpe! Die Rote Pumpe", ["The pump", "The pump"]),
        ("一台泵在", ["beng"]),
        ('<a title="Pumpe">rote Pumpe</a> {Pumpe} <i>', ["the pump"]),
    ],
)
def test_whole_words_the_longest_first(read, line, found):
    plain, marks = separate(line, VOCABULARY, read(FILE))
    assert [term.opening for term in terms(marks)] == found
    assert all(plain[term.begin : term.end].strip() for term in terms(marks))


def test_every_faulty_line_is_named(read, tmp_path):
    with pytest.raises(DataError) as caught:
        read(FAULTS)
    assert str(caught.value).replace(str(tmp_path), "").split("\n") == [
        "/terms.tsv line 2: 'a' has two translations, got 'b' and 'c'; expected one",
        "/terms.tsv line 3: is no term, got 'd'; expected it, a tab, and its translation",
        r"/terms.tsv line 4: is no term, got '\te'; expected it, a tab, and its translation",
        r"/terms.tsv line 5: is no term, got 'f\tg\th'; expected it, a tab, and its translation",
    ]
    with pytest.raises(DataError, match=r"terms.tsv: has no term; expected one a line"):
        read("# nothing\n")
