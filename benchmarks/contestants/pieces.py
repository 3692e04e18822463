"""The special pieces of every vocabulary, for scripts that run without this project."""

PAD, UNK, BOS, EOS = range(4)
