"""The ids of the four special pieces, the same in every vocabulary."""

PAD = 0  # fills a batch up to its longest sentence
UNK = 1  # a piece the vocabulary does not know
BOS = 2  # the decoder's first input
EOS = 3  # ends every source and every target sentence
