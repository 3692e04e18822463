"""Package one system: its weights, vocabulary, settings, scores and a model card -> models/<system>/."""

from pipeline.common import files
from pipeline.common.params import Node
from pipeline.common.system import System
from pipeline.console import cli
from pipeline.decoding.translator import Translator
from pipeline.packaging import building
from pipeline.tracking import registry

READS = ("corpora/{corpus}.yaml:licence",)


def main(name: str) -> None:
    """Write a folder that translates anywhere: `nmt translate --model models/<system>`."""
    system = System.parse(name)
    licence = str(Node.read(READS[0].format(corpus=system.corpus)).value)
    with files.new_folder(system.packaged) as folder:
        building.build(folder, system, Translator.built(system), licence)
    registry.register(system)


if __name__ == "__main__":
    cli.run(main)
