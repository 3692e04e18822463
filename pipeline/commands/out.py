"""The folder of `--out`: written atomically, and replaced only if the same command wrote all of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline import files
from pipeline.files import DataError

MARK = ".nmt.json"  # names the command that wrote a folder, and the files


def check(path: Path | None, command: str) -> None:
    """Check that a command may make or replace the folder; without a path it is a folder of work/.

    Raises: DataError saying what is there.
    """
    if path is None:
        return
    whole = path.resolve()
    if whole == Path.cwd() or whole in Path.cwd().parents:
        what = "is the folder that nmt runs in, or one above it"
    elif any(above.exists() and not above.is_dir() for above in (whole, *whole.parents)) or (
        path.is_symlink() and not path.exists()
    ):
        what = "is a file, or under one"
    elif whole.is_dir() and any(whole.iterdir()) and not is_written(whole, command):
        what = "holds other files"
    else:
        return
    raise DataError(f"--out: {what}, got {str(path)!r}; expected a new folder, or one that `nmt {command}` wrote")


def is_written(folder: Path, command: str) -> bool:
    """Whether a command wrote all files of a folder."""
    try:
        told = files.read_json(folder / MARK)
        return told["command"] == command and {MARK, *told["files"]} >= file_names(folder)
    except (DataError, TypeError, KeyError):
        return False


def file_names(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@contextmanager
def new_folder(path: Path | None, default: Path, command: str) -> Iterator[tuple[Path, Path]]:
    """The folder to fill, and the path that it gets if the block ends without an error; else nothing is left.

    Raises: DataError as `check`.
    """
    check(path, command)
    path = path or default
    made = [above for above in path.parents if not above.exists()]
    try:
        with files.new_folder(path.resolve()) as folder:
            yield folder, path
            files.write_json(folder / MARK, {"command": command, "files": sorted(file_names(folder))})
    except BaseException:
        for above in made:
            if above.is_dir() and not any(above.iterdir()):
                above.rmdir()
        raise
