"""What DVC recorded of the data that a run reads."""

from pathlib import Path

LOCK = Path("dvc.lock")


def md5(path: Path, lock: Path = LOCK) -> str:
    """The MD5 sum that dvc.lock has of an output, its name in DVC's cache; empty if it has none.

    Read line by line: the file is DVC's, thousands of lines long, and may be half written.
    """
    try:
        lines = lock.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    is_output = is_it = False
    for line in lines:
        words = line.split()
        if words in (["outs:"], ["deps:"]):
            is_output, is_it = words == ["outs:"], False
        elif words[:2] == ["-", "path:"]:
            is_it = is_output and words[2:] == [path.as_posix()]
        elif is_it and words[:1] == ["md5:"] and words[1:]:
            return words[1]
    return ""
