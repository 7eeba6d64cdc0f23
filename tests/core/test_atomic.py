import os
import stat

import pytest

from lapestudio.core.atomic import replacing, write_bytes_atomically, write_text_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_is_written_in_utf8_with_line_feeds(tmp_path):
    write_text_atomically(tmp_path / "è.txt", "ħ\nċ\n")
    assert (tmp_path / "è.txt").read_bytes() == "ħ\nċ\n".encode()


def test_a_failure_leaves_the_old_content_and_no_litter(tmp_path):
    path = tmp_path / "file"
    write_bytes_atomically(path, b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_bytes(b"new, but broken off" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_until_the_end_a_reader_sees_the_old_content(tmp_path):
    path = tmp_path / "file"
    write_bytes_atomically(path, b"old")
    with replacing(path) as temporary:
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_result_is_as_readable_as_any_other_file(tmp_path):
    write_bytes_atomically(tmp_path / "ours", b"")
    (tmp_path / "other").write_bytes(b"")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "other")}
    assert len(modes) == 1


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_bytes_atomically(tmp_path / "none" / "file", b"")
