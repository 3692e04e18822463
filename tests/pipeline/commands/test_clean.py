"""`nmt clean --preview`: what rules drop of the first pairs, by bitext."""

import re

from ruamel.yaml import YAML


def test_a_preview_counts_by_rule_and_bitext_and_writes_nothing(toy, run):
    (toy / "my").mkdir()
    good = [
        (f"Le chat numéro {number} dort sur le lit.", f"The cat {number} sleeps on the bed.") for number in range(4)
    ]
    texts = {
        "mine": good,
        "web": [*good[:3], ("Ça\x1b[2J", "x" * 9), good[3][::-1], ("Il y a deux chats.", "Here are 2.")],
    }
    train = [
        {"name": name, "kind": "local", "table": f"my/{name}.tsv", "source_column": 1, "target_column": 2}
        for name in texts
    ]
    for name, pairs in texts.items():
        (toy / f"my/{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    corpus = YAML(typ="safe").load(toy / "corpora/toy.yaml")
    corpus["parts"]["train"], corpus["clean"] = train, {"of": {"web": {"numbers": "count"}}}
    YAML(typ="safe").dump(corpus, toy / "corpora/toy.yaml")
    before = sorted(toy.rglob("*"))
    said = run("clean", "toy", "--preview")
    rows = re.findall(r"^  (mine|web) +(\S+(?: \S+)?) +(\d+) ", said.out, re.MULTILINE)
    assert rows == [
        ("mine", "read", "4"),
        ("mine", "kept", "4"),
        ("web", "read", "6"),
        ("web", "control_characters", "1"),
        ("web", "duplicates", "3"),
        ("web", "kept", "2"),
        ("web", "numbers: count", "1"),
        ("web", "language: off", "1"),
    ]
    assert r"Ça\x1b[2J | xxxxxxxxx" in said.out
    assert sorted(toy.rglob("*")) == before
