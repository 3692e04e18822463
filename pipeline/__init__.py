"""Sentence pairs in, scored translation models out.

The way of the data, one stage after the other:
    download -> clean -> split -> vocabulary -> encode -> train -> average -> decode -> score -> package, report
    and average -> attend -> report for the attention maps

The dimension letters in shapes: B batch, S source length, T target length, D model width, H heads, K head width,
F feed-forward width, V vocabulary size, N rows of a search (sentences x hypotheses).
"""
