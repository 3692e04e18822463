"""Equations as MathML, which browsers draw without a script: from the part of LaTeX that the pages use.

GitHub draws the same source itself: a fence called `math`, and inline $`...`$.
"""

import re
from html import escape
from itertools import cycle

FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"\$`([^`]+)`\$")
LINES = re.compile(r"^\\begin\{aligned\}(.*)\\end\{aligned\}$", re.S)
TOKEN = re.compile(r"\\text\{[^{}]*\}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S")
LETTERS = {
    "alpha": "α",
    "beta": "β",
    "epsilon": "ε",
    "mu": "μ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "theta": "θ",
    "infty": "∞",
}
FUNCTIONS = ("exp", "log", "tanh", "sin", "cos", "max", "min")
SIGNS = {
    "cdot": "·",
    "odot": "⊙",
    "times": "×",
    "pm": "±",
    "le": "≤",
    "ge": "≥",
    "in": "∈",
    "to": "→",
    "top": "⊤",
    "ldots": "…",
    "leftarrow": "←",
    "mid": "|",
    "approx": "≈",
    "sum": "∑",
    "{": "{",
    "}": "}",
}
ACCENTS = {"tilde": "~", "hat": "^", "bar": "‾", "overrightarrow": "→", "overleftarrow": "←"}
SPACES = {",": "0.17em", ";": "0.28em", "quad": "1em", "qquad": "2em"}
CELL = '<mtd style="text-align: {}; padding: 0.3em 0">{}</mtd>'
BELOW = ("sum", "max", "min")  # in a display, their subscript stands below them


def with_mathml(text: str, page: str) -> str:
    """A page of Markdown with MathML for its equations.

    Raises: ValueError naming the page, the equation and what of it is not known here.
    """

    def shown(found: re.Match[str], form: str) -> str:
        try:
            return form.format(mathml(found[1].strip()))
        except ValueError as error:
            raise ValueError(f"{page}: equation {found[1].strip()}: {error}") from None

    block = '<div class="equation" style="overflow-x: auto"><math display="block">{}</math></div>'
    # A span around it: at the beginning of a line, Markdown would end the paragraph before <math>.
    inline = '<span class="equation"><math>{}</math></span>'
    return INLINE.sub(lambda found: shown(found, inline), FENCE.sub(lambda found: shown(found, block), text))


def mathml(source: str) -> str:
    """The inside of <math>, with a table of `aligned` lines."""
    aligned = LINES.match(source)
    if not aligned:
        return Reader(source).row()
    lines = [[Reader(cell).row() for cell in line.split("&")] for line in aligned[1].split(r"\\")]
    rows = ["".join(map(CELL.format, cycle(("right", "left")), line)) for line in lines]
    return f'<mtable displaystyle="true">{"".join(f"<mtr>{row}</mtr>" for row in rows)}</mtable>'


class Reader:
    """Reads an equation from left to right."""

    def __init__(self, source: str) -> None:
        self.tokens = TOKEN.findall(source)[::-1]  # the next one last

    def row(self, end: str = "") -> str:
        """All up to the token `end`, which is read too; up to the end of the source without it."""
        parts = []
        while self.tokens and self.tokens[-1] != end:
            parts.append(self.scripted())
        if end:
            self.take(end)
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def take(self, expected: str) -> str:
        """The next token."""
        if not self.tokens:
            raise ValueError(f"ends too early; expected {expected}")
        return self.tokens.pop()

    def scripted(self) -> str:
        """One part, with its subscript and superscript."""
        below = self.tokens[-1].lstrip("\\") in BELOW
        base, scripts = self.part(), {}
        while self.tokens and self.tokens[-1] in ("_", "^"):
            place = self.take("_ or ^")
            scripts[place] = self.part()
        if not scripts:
            return base
        sub, sup, both = ("munder", "mover", "munderover") if below else ("msub", "msup", "msubsup")
        kind = both if len(scripts) == 2 else sub if "_" in scripts else sup
        return f"<{kind}>{base}{''.join(scripts[one] for one in '_^' if one in scripts)}</{kind}>"

    def part(self) -> str:
        """One letter, number, sign, group or command with its arguments."""
        token = self.take("an argument")
        if token == "{":
            return self.row("}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        return f"<mi>{token}</mi>" if token.isalpha() else operator(token)

    def command(self, name: str) -> str:
        """A command of LaTeX."""
        if name.startswith("text{"):
            return f"<mtext>{escape(name[5:-1])}</mtext>".replace(" ", "&nbsp;")
        if name == "frac":
            return f"<mfrac>{self.part()}{self.part()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.part()}</msqrt>"
        if name in ACCENTS:
            return f'<mover accent="true">{self.part()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name in ("left", "right"):
            return f'<mo stretchy="true">{escape(self.take("a bracket"))}</mo>'
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return operator(SIGNS[name])
        raise ValueError(f"no command known here, got \\{name}; expected one of docs/equations.py")


def operator(sign: str) -> str:
    """A sign; brackets keep their size unless \\left and \\right ask for another."""
    size = ' stretchy="false"' if sign in "()[]{}|" else ""
    return f"<mo{size}>{escape({'-': '−', '*': '∗'}.get(sign, sign))}</mo>"
