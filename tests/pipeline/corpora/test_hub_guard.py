"""What a README and a server may name; the ways through the libraries are in test_hub.py."""

from types import SimpleNamespace

import pytest

from pipeline.corpora import hub_guard
from pipeline.files import DataError

ROOT = "hf://datasets/toy/pairs@"
BASE = f"{ROOT}{'c' * 40}"


@pytest.mark.parametrize("pattern", ["train.csv", "data/**", "data/[0-9]*.parquet", f"{BASE}/train.csv", "data/..csv"])
def test_files_of_its_own_pass(pattern: str) -> None:
    hub_guard.check_inside("toy", ROOT, pattern, BASE)


@pytest.mark.parametrize(
    "pattern",
    [
        "/etc/passwd",
        "~/x.csv",
        "../x.csv",
        "data/../../x.csv",
        "..\\x.csv",
        "https://a.org/x.csv",
        "file:/etc/passwd",
        "file://etc/passwd",
        "s3://b/x.csv",
        "hf://datasets/other/x.csv",
        f"{BASE}/../../other/x.csv",
        "zip://x.csv::a.zip",
        "x.zip::https://a.org/x.zip",
        "http://[::bad",
    ],
)
def test_files_of_another_place_are_refused(pattern: str) -> None:
    with pytest.raises(DataError) as error:
        hub_guard.check_inside("toy", ROOT, pattern, BASE)
    expected = f"toy: names data files of another place, got {pattern}; expected files of its own"
    assert str(error.value) == expected


def test_a_folder_of_another_place_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"^toy: names data files of another place, got /etc; expected files of its own$"
    ):
        hub_guard.check_inside("toy", "/mirror/toy/", "*.csv", "/etc")


@pytest.mark.parametrize("name", [None, "c" * 40, "0a1b-2", "v1.0_x"])
def test_a_name_in_the_cache_passes(name: str | None) -> None:
    hub_guard.check_name("toy", name)


@pytest.mark.parametrize("name", ["", "..", ".x", "/etc/x", "a/b", "a\x1b", "n" * 201])
def test_a_name_that_leaves_the_cache_is_refused(name: str) -> None:
    with pytest.raises(
        DataError, match=r"^toy: the server gave a name that is none, got .*; expected letters and digits$"
    ):
        hub_guard.check_name("toy", name)


def test_a_replaced_function_is_put_back() -> None:
    holder = SimpleNamespace(double=lambda x: 2 * x)
    original = holder.double
    with hub_guard.replaced(holder, "double", lambda double, x: double(x) + 1):
        assert holder.double(3) == 7
    assert holder.double is original


def test_what_is_guarded_is_there() -> None:
    """Names of the libraries' own, which a new version of them may not have."""
    import datasets.data_files
    import datasets.load
    import huggingface_hub

    before = (
        datasets.data_files.resolve_pattern,
        huggingface_hub.file_download._get_metadata_or_catch_error,
        huggingface_hub.HfApi.dataset_info,
        datasets.load.CachedDatasetModuleFactory.get_module,
    )
    with hub_guard.guarding("toy", ROOT):
        assert datasets.data_files.resolve_pattern is not before[0]
    assert datasets.data_files.resolve_pattern is before[0]
    assert huggingface_hub.HfApi.dataset_info is before[2]
    assert datasets.load.CachedDatasetModuleFactory.get_module is before[3]


def test_a_format_that_is_no_table_is_refused() -> None:
    builder = type("Pickle", (), {"__module__": "datasets.packaged_modules.pandas.pandas"})()
    with pytest.raises(DataError, match=r"^toy: holds pandas files; expected one of arrow, csv, json, parquet, text$"):
        hub_guard.checked_format("toy", builder)
