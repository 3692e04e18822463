"""Draw the pictures of docs/models/: what each system attends to in one sentence.

    python -m docs.pictures

The six systems of the bundled corpus must be built. `nmt attention` draws; here its pictures are cut and made small.
"""

import subprocess
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/models"
DRAWN = Path("work/pictures")
SENTENCE = "Nous voyons Claire tous les jours, mais nous ne lui parlons jamais."
RECURRENT = ("gru_attention", "bilstm_attention", "rnnsearch")
TRANSFORMERS = ("transformer_postnorm", "transformer_prenorm")
COLOURS = 128
BAR = 72  # pixels of the bar of colours, at the right
WHITE = 255


def main() -> None:
    """Draw them all."""
    for model in (*RECURRENT, *TRANSFORMERS):
        system = f"phrasebook_fr_en-bpe_2k-{model}-tiny"
        command = ["nmt", "attention", "--system", system, "--out", str(DRAWN / model), SENTENCE]
        subprocess.run(command, check=True)
        with Image.open(DRAWN / model / "sentence_1.png") as picture:
            if model in RECURRENT:
                save(picture, FOLDER / f"{model}.png")
            else:  # encoder, decoder and cross-attention side by side: too wide for a page
                edge = blank_column(picture, 2 * (picture.width - BAR) // 3)
                save(picture.crop((edge, 0, picture.width, picture.height)), FOLDER / f"{model}.png")
                save(picture.crop((0, 0, edge, picture.height)), FOLDER / f"{model}_self.png")


def blank_column(picture: Image.Image, near: int) -> int:
    """The white column of pixels that is nearest to a given one."""
    [blank] = np.nonzero(np.asarray(picture.convert("L")).min(axis=0) == WHITE)
    return int(blank[np.abs(blank - near).argmin()])


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture in few colours; what a viewer does not need is left out."""
    picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    print(f"{path.relative_to(FOLDER.parents[1])}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
