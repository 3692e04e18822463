"""The page at `/`: the files of the folder `page`."""

import os
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"
# Chromium asks for the icon again whenever the address changes, and with each text it does; the rest is asked for by
# its hash at every visit, so that a new version is complete at once.
KEPT = {".svg": "max-age=86400"}
REVALIDATED = "no-cache"


class Page(StaticFiles):
    """The page's files, and how long a browser may keep each."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER, html=True)

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The answer with a file."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers["Cache-Control"] = KEPT.get(Path(full_path).suffix, REVALIDATED)
        return answer
