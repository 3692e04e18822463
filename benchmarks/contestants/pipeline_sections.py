"""The sections `training` and `learning` of a job, for this project's own training loop."""

from contestants.job import POOL_PAIRS, POSITIONS, SMALL_RATE, Job

from pipeline.encoding.budget import Training
from pipeline.training.learning import Learning


def sections(given: Job) -> tuple[Training, Learning]:
    """What the loop is given; nothing is validated or saved."""
    training = Training(
        updates=given.warm_up + given.updates,
        # 1: every micro-batch is an update, as the others' are.
        tokens_per_update=1 if given.parts == 1 else given.positions,
        tokens_per_batch=given.positions // given.parts,
        pool_pairs=POOL_PAIRS,
        max_length=POSITIONS,
        validation_interval=1,
        validation_sentences=0,
        patience=0,
        checkpoint_interval=1,
        last_checkpoints=1,
        best_checkpoints=0,
        exact=given.exact,
        cuda_graphs=False,
        threads=0,
        seed=given.seed,
    )
    learning = Learning.model_validate(
        {
            "batches": {"kind": "tokens"},
            "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
            "schedule": {
                "kind": "linear",
                "peak_rate": given.peak_rate or SMALL_RATE,
                "warmup": given.warm_up_rate or 1,
            },
            "label_smoothing": given.label_smoothing,
            "smoothing_spread": "all",
            "r_drop": 0.0,
            "lsi_pairs": given.lsi_pairs,
            "clip": 1.0,
            "precision": given.precision,
        }
    )
    return training, learning
