"""Draw docs/page.png: the page of a running `nmt serve` with the six systems of the bundled corpus, in Chromium.

python -m docs.page_picture http://127.0.0.1:5050
"""

import io
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

PICTURE = Path(__file__).parent / "page.png"
SENTENCE = "Cette voiture rouge est plus chère que mon vélo."
WIDTH, PICTURE_WIDTH = 1280, 1600
MARGIN = 24  # pixels below the translations
COLOURS = 128
WAIT_MILLISECONDS = 60_000


def draw(browser: Browser, address: str, path: Path) -> None:
    """Translate with all systems, point at the last word of the best translation, and save what is seen."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, device_scale_factor=2, color_scheme="light")
    page.goto(f"{address.rstrip('/')}/#q={quote(SENTENCE)}&systems=all")
    systems = page.locator(".chip").count
    page.locator(".chip").first.wait_for()
    expect(page.locator(".time:visible")).to_have_count(systems(), timeout=WAIT_MILLISECONDS)
    page.locator(".result").first.locator(".word").nth(-2).hover()  # the last is the full stop
    page.locator("mark").first.wait_for(timeout=WAIT_MILLISECONDS)
    box = page.locator("#sheet").bounding_box()
    assert box is not None
    height = round(box["y"] + box["height"]) + MARGIN
    seen = page.screenshot(animations="disabled", clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    page.close()
    picture = Image.open(io.BytesIO(seen)).convert("RGB")
    scaled = picture.resize((PICTURE_WIDTH, PICTURE_WIDTH * height // WIDTH), Image.Resampling.LANCZOS)
    # The median cut, which is the default, makes small areas of a colour grey.
    scaled.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)


def main(address: str) -> None:
    """Draw the picture of the documents."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"))
        draw(browser, address, PICTURE)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
