"""The folder of a run: the link to the latest one."""

from pathlib import Path

from eyechart.results.run_folder import RunFolder


def finished(path: Path) -> RunFolder:
    """A run whose folder is there."""
    folder = RunFolder(path)
    folder.create()
    return folder


def test_latest_links_to_the_last_run(tmp_path: Path) -> None:
    for name in ("1", "2"):
        finished(tmp_path / "runs" / name).link_latest()
        assert (tmp_path / "runs" / "latest").readlink() == Path(name)


def test_a_run_without_a_link_is_no_error(tmp_path: Path) -> None:
    folder = finished(tmp_path / "runs" / "1")
    (tmp_path / "runs" / ".latest-1").mkdir()  # no link can be made, as on a file system without links
    folder.link_latest()
    assert not (tmp_path / "runs" / "latest").exists()


def test_a_folder_of_the_name_latest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "runs" / "latest").mkdir(parents=True)
    finished(tmp_path / "runs" / "1").link_latest()
    assert not (tmp_path / "runs" / "latest").is_symlink()
