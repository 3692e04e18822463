"""`nmt experiments`, with the answer of `dvc exp show --json` as it is."""

import json
import sys

from pipeline.commands import experiments
from pipeline.console import tables


def data(beam, dropout, **systems):
    params = {"params.yaml": {"decode": {"beam_size": beam}}, "configs/gru.yaml": {"shared": {"dropout": dropout}}}
    return {
        "params": {name: {"data": content} for name, content in params.items()},
        "metrics": {"report/metrics.json": {"data": systems}},
    }


def experiment(name, content, state=None):
    return {"revs": [{"rev": "a" * 40, "data": content}], "name": name, "executor": state and {"state": state}}


def test_what_was_varied_and_what_it_changed(toy, run, monkeypatch):
    gru, lstm = {"loss": 1.0, "bleu": 20.0}, {"loss": 2.0, "bleu": 10.0}
    shown = [
        {"rev": "workspace", "name": None, "data": {}, "experiments": None},
        {
            "rev": "b" * 40,
            "name": "main",
            "data": data(5, 0.1, gru=gru, lstm=lstm),
            "experiments": [
                experiment("greedy", data(1, 0.1, gru=gru, lstm=lstm)),
                experiment("both", data(1, 0.2, gru={"loss": 0.5, "bleu": 21.25}, lstm=lstm)),
                experiment("later", data(3, 0.1), "Queued"),
            ],
        },
    ]
    monkeypatch.setattr(experiments, "DVC", (sys.executable, "-c", f"print({json.dumps(shown)!r})"))
    said = run("experiments")
    assert said.err == ""
    lines = said.out.splitlines()
    assert [line.split() for line in lines if line.strip(" ─")][1:] == [
        ["main", "gru", "1.000", "bleu", "20.00"],
        ["main", "lstm", "2.000", "bleu", "10.00"],
        ["greedy", "decode.beam_size=1", "scores", "as", "before"],
        ["both", "decode.beam_size=1", "gru", "0.500", "bleu", "21.25"],
        ["gru:shared.dropout=0.2"],
        ["later", "decode.beam_size=3", "Queued"],
    ]
    assert max(map(len, lines)) <= tables.WIDTH
