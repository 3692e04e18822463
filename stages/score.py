"""Score one system's translations: data/decode/<system>/ -> metrics/<system>.json and data/score/<system>/.

The metrics are a few numbers, which `dvc metrics show` and `dvc exp show` put into columns; scores.json says how they
were computed.
"""

from pipeline.common import files
from pipeline.common.system import BEFORE, System
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.evaluation import curves, scoring, translations
from pipeline.evaluation.settings import Scoring
from pipeline.tracking.runs import Run

READS = ("score", "corpora/{corpus}.yaml:score")


def main(name: str) -> None:
    """Score every test part as a whole, by the length of the source, and without the unknown words of a word list.

    So are the translations of the package that the system starts from, if any.
    """
    system = System.parse(name)
    section = Scoring.load(*READS, corpus=system.corpus)
    texts = translations.read(system.split, system.decoded, section.references)
    training = files.read_json(system.training_summary)
    findings = {"training": curves.of_training(*curves.read(system.trained), training)}
    findings |= files.read_json(system.decoded / "diagnosis.json")
    validation = {"loss": training["best"]["validation_loss"]}
    with files.new_folder(system.scored) as folder:
        metrics = scoring.score(system, section, texts, system.decoded, folder)
        if (decoded := system.decoded / BEFORE).exists():
            before = translations.read(system.split, decoded, section.references)
            scoring.score(system, section, before, decoded, folder / BEFORE)
            files.write_json(folder / BEFORE / "diagnosis.json", files.read_json(decoded / "diagnosis.json"))
        files.write_json(folder / "diagnosis.json", findings)
        files.write_json(folder / "score.json", section.model_dump())
    files.write_json(system.metrics, {"validation": validation, **metrics})
    for subject, lines in findings.items():
        say(f"diagnosis of {subject}", *lines)
    with Run(system) as run:
        run.open_scoring()
        run.scoring(section.model_dump(), texts, metrics)


if __name__ == "__main__":
    cli.run(main)
