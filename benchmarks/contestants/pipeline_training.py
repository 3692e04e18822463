"""This project's training loop, without validation and checkpoints; torchrun may start several of it."""

from pathlib import Path

from contestants.job import Job, answer, clock
from contestants.pipeline_network import network
from contestants.pipeline_sections import sections
from safetensors.torch import save_file

from pipeline import device
from pipeline.averaging import Averaging, average_checkpoints
from pipeline.encoding.batching import START, BatchSampler, load_batches
from pipeline.encoding.shards import Encoded
from pipeline.layers.positions import sinusoids
from pipeline.training import checkpoint_file, lsi
from pipeline.training.loop import train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import process_group

given = Job.read()
updates = given.warm_up + given.updates
training, learning = sections(given)
device.bound_memory()
device.be_deterministic(given.seed)
where = device.prepared()
model = network(given, given.dropout).to(where)
encoded = Encoded.open(Path(given.data))
if given.lsi_pairs:
    lsi.start(model.embedding_matrices, encoded, most_pairs=given.lsi_pairs, seed=given.seed)
sampler = BatchSampler(encoded, training, learning.batches)
with process_group() as ranks:
    ranks.be_exact(given.exact)
    steps = train(
        model,
        learning.optimizer.build(model),
        prefetched(load_batches(sampler, encoded, START, updates, ranks.shard), pinned=where.type == "cuda"),
        learning,
        width=given.width,
        updates=updates,
        seed=given.seed,
        ranks=ranks,
    )
    tokens = real = computed = 0
    began = clock()
    averaged = Averaging.load("average.small").checkpoints if given.average else 1
    every = max(1, updates // 10 // averaged)  # so that they span the last tenth
    saved: list[Path] = []
    for number, step in enumerate(steps, 1):
        tokens, real, computed = tokens + step.tokens, real + step.num_real_positions, computed + step.num_positions
        if number == given.warm_up:
            tokens, real, computed, began = 0, 0, 0, clock()
        if given.save and number > updates - averaged * every and (updates - number) % every == 0:
            saved.append(Path(given.save, f"update_{number}.safetensors"))
            checkpoint_file.write(saved[-1], {name: value.cpu() for name, value in model.state_dict().items()}, {})
    if ranks.is_main:
        answer(tokens, clock() - began, 1 - real / computed)
    if given.save:
        weights = average_checkpoints(saved)
        save_file(weights | {"sinusoids": sinusoids(1, given.width)}, Path(given.save, "weights.safetensors"))
