"""Outputs of earlier stages, read for the report: one object a corpus, one a system."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ..common import files
from ..common.system import BEFORE, System, encoded_folder
from ..evaluation import curves, diagnosis, scores, significance
from ..evaluation.settings import TITLES, Scoring
from ..evaluation.significance import Standing
from ..evaluation.translations import Translated, read

Rows = list[dict[str, str]]

AXES = ("vocabulary", "model", "size")  # what may tell the systems of a corpus apart


@dataclass(frozen=True)
class SystemResults:
    """One system: the scores of every seed; training, translations and attention of the first seed."""

    system: System
    scoring: Scoring
    scores: list[dict[str, dict[str, float]]]  # one a seed: test part -> metric -> score
    details: dict[str, dict[str, dict[str, Any]]]  # test part -> metric -> how the score was computed
    by_length: Rows
    curves: Rows  # one row a validation
    train_loss: Rows
    training: dict[str, Any]
    average: dict[str, Any]
    diagnosis: dict[str, list[str]]  # findings on training, test parts and attention
    unmatchable: dict[str, dict[str, str]]  # test part -> line -> why no translation can equal its reference
    texts: dict[str, Translated]  # test part -> sources, references, translations
    attended: dict[str, list[dict[str, Any]]]  # test part -> sentences with attention weights

    @property
    def name(self) -> str:
        """The name of the system among those of its corpus."""
        return "-".join(getattr(self.system, axis) for axis in AXES)

    def of_seeds(self, part: str, metric: str) -> list[float]:
        """The score of each seed."""
        return [scores[part][metric] for scores in self.scores]

    def score(self, part: str, metric: str) -> float:
        """The mean score of all seeds."""
        return fmean(self.of_seeds(part, metric))


@dataclass(frozen=True)
class CorpusResults:
    """One corpus: its counts, and the systems that learnt from it."""

    name: str
    cleaning: dict[str, Any]
    splitting: dict[str, Any]
    tokens: dict[str, dict[str, dict[str, int]]]  # vocabulary -> part -> counts
    systems: list[SystemResults]
    standings: dict[str, dict[str, Standing]] = field(default_factory=dict)  # test part -> system's name
    signatures: list[str] = field(default_factory=list)  # of every metric and comparison

    @property
    def parts(self) -> dict[str, Translated]:
        """The test parts; their translations are those of the first system."""
        return self.systems[0].texts

    @property
    def scoring(self) -> Scoring:
        """The section with which the systems were scored."""
        return self.systems[0].scoring

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.cleaning["source_language"], self.cleaning["target_language"]

    @property
    def metrics(self) -> list[str]:
        """The metrics of every system, the one that ranks them first."""
        return list(next(iter(self.systems[0].details.values())))

    @property
    def num_seeds(self) -> int:
        """The number of seeds that each system was trained with."""
        return len(self.systems[0].scores)

    def label(self, system: SystemResults) -> str:
        """A short name of a system: its model, and whatever else tells the systems apart."""
        systems = [other.system for other in self.systems]
        varied = (axis for axis in AXES if axis == "model" or len({getattr(other, axis) for other in systems}) > 1)
        return "-".join(getattr(system.system, axis) for axis in varied)

    def best_first(self, part: str, metric: str = "") -> list[SystemResults]:
        """The systems by a metric on `part`, else by their first one; equal ones keep their order."""
        metric = metric or self.metrics[0]
        return sorted(self.systems, key=lambda system: system.score(part, metric), reverse=metric != "ter")


def read_corpora(systems: Sequence[System]) -> Iterator[CorpusResults]:
    """Every corpus with its systems; those that differ by their seed alone are one."""
    by_corpus: dict[str, dict[tuple[Any, ...], list[System]]] = {}
    for system in systems:
        by_corpus.setdefault(system.corpus, {}).setdefault(system[:4], []).append(system)
    for name in sorted(by_corpus):
        trained = [read_system(seeds) for seeds in by_corpus[name].values()]
        yield read_corpus(name, [*read_before(trained[0]), *trained])


def read_corpus(name: str, systems: list[SystemResults]) -> CorpusResults:
    """A corpus: its counts, and its systems compared with the best."""
    encoded = {one.system.vocabulary: encoded_folder(name, one.system.vocabulary) for one in systems}
    corpus = CorpusResults(
        name=name,
        cleaning=files.read_json(Path("data/clean", name, "clean.json")),
        splitting=files.read_json(Path("data/split", f"{name}.json")),
        tokens={vocabulary: files.read_json(folder / "encode.json") for vocabulary, folder in encoded.items()},
        systems=systems,
    )
    compared = {part: compare(corpus, part) for part in corpus.parts}
    details = [detail for system in systems for metrics in system.details.values() for detail in metrics.items()]
    signatures = [f"{TITLES.get(metric, metric)}: {detail['signature']}" for metric, detail in details]
    signatures += [f"paired bootstrap: {signature}" for _, signature in compared.values() if signature]
    standings = {part: standing for part, (standing, _) in compared.items()}
    return replace(corpus, standings=standings, signatures=list(dict.fromkeys(signatures)))


def compare(corpus: CorpusResults, part: str) -> tuple[dict[str, Standing], str]:
    """The systems against the best one on a part: over seeds if there are several, else over sentences."""
    ranked, metric = corpus.best_first(part), corpus.metrics[0]
    if corpus.num_seeds > 1:
        return significance.seeds({system.name: system.of_seeds(part, metric) for system in ranked}), ""
    scoring = corpus.scoring.of(part, corpus.languages[1])
    translations = {system.name: system.texts[part].translations for system in ranked}
    measure = scores.measure_of(scoring.metrics[0], scoring, corpus.parts[part].references)
    return significance.bootstrap(translations, measure, num_samples=scoring.bootstrap_samples, seed=scoring.seed)


def read_system(seeds: Sequence[System]) -> SystemResults:
    """One system, with the scores of all its seeds."""
    system = seeds[0]
    history, train_loss = curves.read(system.trained)
    scoring = Scoring.model_validate(files.read_json(system.scored / "score.json"))
    texts = read(system.split, system.decoded, scoring.references)
    attended = {part: files.read_json(system.attended / f"{part}.json") for part in texts}
    attention = diagnosis.of_attention(record for records in attended.values() for record in records)
    return SystemResults(
        system=system,
        scoring=scoring,
        scores=[files.read_json(one.metrics) for one in seeds],
        details=files.read_json(system.scored / "scores.json"),
        by_length=files.read_table(system.scored / "by_length.csv"),
        curves=history,
        train_loss=train_loss,
        training=files.read_json(system.training_summary),
        average=files.read_json(system.averaged / "average.json"),
        unmatchable=files.read_json(system.scored / "unmatchable.json"),
        texts=texts,
        diagnosis=files.read_json(system.scored / "diagnosis.json") | {"attention": attention},
        attended=attended,
    )


def read_before(after: SystemResults) -> Iterator[SystemResults]:
    """The package that a system starts from, if any, as a system of its own, which is not trained."""
    folder, system = after.system.scored / BEFORE, after.system
    if not folder.is_dir():
        return
    details = files.read_json(folder / "scores.json")
    scores = {part: {name: detail["score"] for name, detail in each.items()} for part, each in details.items()}
    first = {name: float(value) for name, value in after.curves[0].items() if value}  # before the first update
    best = {"best": first | {"update": 0}, "updates": 0, "stopped": "not trained", "padding_share": 0.0}
    yield replace(
        after,
        system=system._replace(size=f"{system.size}_{BEFORE}"),
        scores=[scores for _ in after.scores],
        details=details,
        by_length=files.read_table(folder / "by_length.csv"),
        curves=[],
        train_loss=[],
        training=after.training | best,
        average={"checkpoints": []},
        diagnosis=files.read_json(folder / "diagnosis.json"),
        texts=read(system.split, system.decoded / BEFORE, after.scoring.references),
        attended={part: [] for part in details},
    )
