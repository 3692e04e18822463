from pipeline.common.system import System
from pipeline.decoding.translator import Translator
from tests.toys import systems
from tests.toys.systems import SYSTEM


def test_the_page_and_the_translation(run, project):
    said = run("attention", "--system", SYSTEM, "--out", "shown.html", "le chat\u202fnoir")
    assert (said.status, said.out) == (0, "shown.html\n")
    assert said.err == run("translate", "--system", SYSTEM, "le chat noir").out
    page = (project / "shown.html").read_text(encoding="utf-8")
    translator = Translator.built(System.parse(SYSTEM))
    source = translator.read("le chat noir", "sentence")
    pieces = ",".join(f'"{piece}"' for piece in translator.vocabulary.source_pieces(source))
    assert f'"source":[{pieces},' in page


def test_the_page_without_out(run, project):
    said = run("attention", "--system", SYSTEM, "--beam", "1", "le chat")
    assert said.out == f"work/attention/{SYSTEM}.html\n"
    first = (project / said.out.strip()).read_bytes()
    run("attention", "--system", SYSTEM, "--beam", "1", "le chat")
    assert (project / said.out.strip()).read_bytes() == first


def test_a_model_without_attention_says_so(fails, project):
    system = systems.lay_out(project, "rnn_encdec")
    assert fails("attention", "--system", system, "le chat") == (
        f"--system: rnn_encdec has no attention to draw, got {system!r}; expected another model"
    )


def test_no_text_is_refused(fails, project):
    for sentence in ("", "  ", "\u200b"):
        assert fails("attention", "--system", SYSTEM, sentence) == (
            f"sentence: holds no text, got {sentence!r}; expected words to translate"
        )
