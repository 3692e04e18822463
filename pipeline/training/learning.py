"""How a model learns: batches, optimizer, schedule, loss and precision, keys of configs/<model>.yaml."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, create_model

from ..common.params import Node, ParamsError, Section
from ..common.system import Name, System, config_file, corpus_file
from ..packaging import sealed
from ..packaging.start import Base
from .budget import Batches
from .loss import Spread
from .optimizers import Optimizer
from .schedules import Schedule


class Learning(Section):
    """How a model learns.

    `clip` is the maximum norm of the gradient of the mean loss per token; 0 turns clipping off.

    `r_drop` is the weight of the divergence between two passes of each sentence, which differ in dropout (R-Drop, see
    `r_drop_loss`). With 0 there is one pass; two take about twice the time and memory.

    `lsi_pairs`: how many pairs, at most, say which pieces' embeddings start close together (cross-language LSI, see
    `lsi.start`). With 0 all of them start at random.

    `precision` is that of matrix products; `auto` is bf16 if the machine has instructions for it, else fp32.
    """

    batches: Batches
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    smoothing_spread: Spread
    r_drop: NonNegativeFloat
    lsi_pairs: NonNegativeInt
    clip: NonNegativeFloat
    precision: Literal["auto", "fp32", "bf16"]


class Overriding(Section):
    """The key `models` of a corpus: keys of configs/<model>.yaml that it overrides, by the model; {} for none."""

    models: dict[Name, dict[str, Any]]


def model_nodes(system: System, base: Base | None) -> list[Node]:
    """The keys of a system's model: of all its sizes, of its own, of the package that it starts from, of its corpus.

    The architecture is the package's, but for what the corpus overrides.
    """
    path, corpus = config_file(system.model), corpus_file(system.corpus)
    nodes = [Node.read(f"{path}:{name}") for name in ("shared", system.size)]
    if base:
        nodes = [node.only(Learning.model_fields) for node in nodes]
        nodes.append(Node(base.config.arch, "arch", base.folder / sealed.CONFIG))
    own = Overriding.load_own(f"{corpus}:").models.get(system.model, {})
    return [*nodes, Node(own, f"models.{system.model}", corpus)]


def model_sections(module: Any, nodes: Sequence[Node]) -> tuple[Any, Learning]:
    """The architecture and the learning of a model, by its module, from the nodes that have their keys.

    Raises: ParamsError listing every fault.
    """
    if faults := list(model_section(module).merged_faults(nodes)):
        raise ParamsError("\n".join(faults))
    arch, learning = ([node.only(kind.model_fields) for node in nodes] for kind in (module.Arch, Learning))
    return module.Arch.merged(arch), Learning.merged(learning)


def model_section(module: Any) -> type[Section]:
    """The class of all keys of a model."""
    return create_model("Size", __base__=(module.Arch, Learning))
