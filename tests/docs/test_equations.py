"""Equations become MathML; what the converter does not know is refused."""

import re
from xml.etree import ElementTree

import pytest

from docs import equations


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("s_t", "<msub><mi>s</mi><mi>t</mi></msub>"),
        ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("a_j^{12}", "<msubsup><mi>a</mi><mi>j</mi><mn>12</mn></msubsup>"),
        ("0.5", "<mn>0.5</mn>"),
        (r"\sum_j a", "<mrow><munder><mo>∑</mo><mi>j</mi></munder><mi>a</mi></mrow>"),
        (r"\sum_j^n", "<munderover><mo>∑</mo><mi>j</mi><mi>n</mi></munderover>"),
        (r"\frac{1}{\sqrt{D}}", "<mfrac><mn>1</mn><msqrt><mi>D</mi></msqrt></mfrac>"),
        (r"\tilde{h}", '<mover accent="true"><mi>h</mi><mo stretchy="false">~</mo></mover>'),
        (r"\text{if } x < 1", "<mrow><mtext>if&nbsp;</mtext><mi>x</mi><mo>&lt;</mo><mn>1</mn></mrow>"),
        (
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
            '<mtable displaystyle="true"><mtr><mtd style="text-align: right; padding: 0.3em 0"><mi>a</mi></mtd>',
        ),
        (r"\tanh(x)", '<mrow><mi>tanh</mi><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo></mrow>'),
        ("a - b", "<mrow><mi>a</mi><mo>−</mo><mi>b</mi></mrow>"),
        (r"\left( x \right)", '<mrow><mo stretchy="true">(</mo><mi>x</mi><mo stretchy="true">)</mo></mrow>'),
    ],
)
def test_mathml_of_an_equation(source, said):
    found = equations.mathml(source)
    assert found.startswith(said)
    ElementTree.fromstring(f"<math>{found.replace('&nbsp;', ' ')}</math>")


def test_a_page_gets_its_equations_in_blocks_and_in_sentences():
    text = "At $`t`$:\n\n```math\ns_t = 1\n```\n\n`$x$` stays.\n"
    found = equations.with_mathml(text, "a.md")
    assert found.startswith('At <span class="equation"><math><mi>t</mi></math></span>:\n\n<div class="equation" st')
    assert found.endswith("</math></div>\n\n`$x$` stays.\n")


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (r"\oint x", r"no command known here, got \oint; expected one of docs/equations.py"),
        (r"\frac{1}", "ends too early; expected an argument"),
        ("x_", "ends too early; expected an argument"),
        ("{x", "ends too early; expected }"),
        (r"\left", "ends too early; expected a bracket"),
    ],
)
def test_what_is_not_known_is_refused(source, fault):
    with pytest.raises(ValueError, match=f"^{re.escape(f'a.md: equation {source}: {fault}')}$"):
        equations.with_mathml(f"$`{source}`$", "a.md")
