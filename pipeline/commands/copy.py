"""`nmt copy`: whether a model can learn at all."""

from typing import Annotated

import typer

from pipeline.commands import copy_task

INTERVAL = 50  # updates between two checks
LEARNT = 0.99  # share of unseen sentences, new ones in each check


def copy(
    model: Annotated[str, typer.Option(help="A model, such as rnnsearch.")],
    reverse: Annotated[bool, typer.Option("--reverse", help="Say the digits backwards.")] = False,
    batch_size: Annotated[int, typer.Option(min=1, max=copy_task.TRAINED, help="Sentences an update.")] = 80,
    length: Annotated[int, typer.Option(min=2, max=50, help="Digits a sentence.")] = copy_task.LENGTH,
    updates: Annotated[int, typer.Option(min=1, help="Give up after so many.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Of the weights and the sentences.")] = 1,
) -> None:
    """Train a small network of a model to say digits again, until it does so with digits it never saw.

    Prints the loss and the share of unseen sentences said exactly as it goes. Exit status 0 as soon as that is 99 %, 1
    where the updates run out before.
    """
    last = None
    checks = copy_task.run(
        model, reverse=reverse, batch_size=batch_size, length=length, updates=updates, interval=INTERVAL, seed=seed
    )
    for last in checks:
        source, output = (" ".join(map(str, pieces)) for pieces in (last.source, last.predicted))
        print(f"update {last.update}: loss {last.loss:.3f}, {last.exact:.1%} exact, {source} -> {output}", flush=True)
        if last.exact >= LEARNT:
            break
    assert last is not None, "at least one check"
    learnt = last.exact >= LEARNT
    print(f"{model}: {'' if learnt else 'not '}learnt in {last.update} updates, {last.exact:.1%} exact")
    raise typer.Exit(0 if learnt else 1)
