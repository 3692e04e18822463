"""Builds the wheel: the folder `pipeline` under the import name `nmt_pipeline`.

Beside other packages the names `pipeline` and `stages` would clash. So a wheel holds no `stages`, and a copy of
`pipeline` whose import statements name `nmt_pipeline`. An editable install (`make install`) copies nothing, and offers
all three names.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDER, NAME = "pipeline", "nmt_pipeline"
# The statements in which a module of ours names another; tests/test_wheel.py finds any other way.
STATEMENT = re.compile(rf"^(\s*)(from|import) {FOLDER}\b", re.MULTILINE)
FOUND = find_packages(include=[FOLDER, f"{FOLDER}.*"])
RENAMED = [name.replace(FOLDER, NAME, 1) for name in FOUND]


class BuildPy(build_py):  # type: ignore[misc]  # setuptools has no types
    """Copies the renamed package alone, and renames it in its statements."""

    def finalize_options(self) -> None:
        """Choose what a wheel holds."""
        super().finalize_options()
        if not self.editable_mode:
            self.packages = RENAMED

    def build_module(self, *arguments: object) -> tuple[str, bool]:
        """Copy one module."""
        path, copied = super().build_module(*arguments)
        text = Path(path).read_text(encoding="utf-8")
        Path(path).write_text(STATEMENT.sub(rf"\1\2 {NAME}", text), encoding="utf-8")
        return path, copied


setup(
    packages=[*FOUND, "stages", *RENAMED],
    package_dir={NAME: FOLDER},
    package_data={
        f"{NAME}.serving": ["page/*"],
        f"{NAME}.packaging": ["*.jinja"],
        f"{NAME}.report": ["templates/*"],
    },
    cmdclass={"build_py": BuildPy},
)
