"""Restricts the hub's libraries to reading a data set's own files, as tables, and writing into the cache.

A README may give addresses and paths of any kind as data files, and a server that is, or pretends to be, the hub names
the files in the cache (by an ETag, by a commit): `datasets` and `huggingface_hub` take both as they come.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from pipeline import files, terminal

FORMATS = ("arrow", "csv", "json", "parquet", "text")  # of the library's many: those of tables of text
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
SHOWN_CHARACTERS = 200


@contextmanager
def guarding(where: str, root: str) -> Iterator[None]:
    """A block in which no data file may lie outside `root`, and no name that a server gives may leave the cache.

    Nor does an earlier copy of a data set take the place of what the hub does not give.
    Raises: DataError, within the block, naming the data set as `where`.
    """
    import datasets.data_files
    import datasets.load
    import huggingface_hub

    def resolve_pattern(original: Callable[..., Any], pattern: str, base_path: str, *args: Any, **more: Any) -> Any:
        check_inside(where, root, pattern, base_path)
        return original(pattern, base_path, *args, **more)

    def metadata(original: Callable[..., Any], *args: Any, **more: Any) -> Any:
        # In `storage_folder` it only notes which files are missing, below a folder named by the unchecked commit.
        found = original(*args, **(more | {"storage_folder": None}))
        for name in found[1:3]:  # ETag and commit
            check_name(where, name)
        return found

    def dataset_info(original: Callable[..., Any], *args: Any, **more: Any) -> Any:
        found = original(*args, **more)
        check_name(where, found.sha)
        return found

    def no_copy(original: Callable[..., Any], *args: Any, **more: Any) -> Any:
        # The library would take the newest copy, of any revision; without one it says why the hub gave nothing.
        raise FileNotFoundError

    with ExitStack() as stack:
        for holder, name, guard in (
            (datasets.data_files, "resolve_pattern", resolve_pattern),
            (huggingface_hub.file_download, "_get_metadata_or_catch_error", metadata),
            (huggingface_hub.HfApi, "dataset_info", dataset_info),
            (datasets.load.CachedDatasetModuleFactory, "get_module", no_copy),
        ):
            stack.enter_context(replaced(holder, name, guard))
        yield


@contextmanager
def replaced(holder: Any, name: str, guard: Callable[..., Any]) -> Iterator[None]:
    """A block in which calls of `holder.name` go to `guard`, with the original as first argument."""
    original = getattr(holder, name)
    setattr(holder, name, lambda *args, **more: guard(original, *args, **more))
    try:
        yield
    finally:
        setattr(holder, name, original)


def check_inside(where: str, root: str, pattern: str, base_path: str) -> None:
    """Check that a pattern of data files stays below `root`.

    Raises: DataError naming it.
    """
    try:
        absolute = pattern.startswith(("/", "~")) or bool(urlsplit(pattern).scheme)
    except ValueError:
        absolute = True
    whole = pattern if absolute else f"{base_path}/{pattern}"
    inside = whole.startswith(root) and "::" not in whole and "\\" not in whole
    if not inside or not set(whole.removeprefix(root).split("/")).isdisjoint({"..", "~"}):
        shown = terminal.one_line(pattern if f"{base_path}/".startswith(root) else base_path, SHOWN_CHARACTERS)
        raise files.DataError(f"{where}: names data files of another place, got {shown}; expected files of its own")


def check_name(where: str, name: str | None) -> None:
    """Check a name in the cache that a server gave, if any.

    Raises: DataError naming it.
    """
    if name is not None and not NAME.fullmatch(name):
        shown = terminal.one_line(name, SHOWN_CHARACTERS)
        raise files.DataError(f"{where}: the server gave a name that is none, got {shown}; expected letters and digits")


def checked_format(where: str, builder: Any) -> str:
    """The format of a data set, which must consist of tables: some of the library's others run code that a file names.

    Raises: DataError naming the format.
    """
    found = type(builder).__module__.removeprefix("datasets.packaged_modules.").partition(".")[0]
    if found not in FORMATS:
        raise files.DataError(f"{where}: holds {found} files; expected one of {', '.join(FORMATS)}")
    return found
