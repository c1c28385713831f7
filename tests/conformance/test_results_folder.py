"""`--report DIR`: results on disk as they come, whole or cut off, and what an earlier run left there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
from tests.conformance.commands import ROOT, bad, started

from looptck.report.folder import RESULTS, FolderError, RunFolder, read_run


def test_a_line_is_on_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"verb": "check"}) as folder:
        folder.add("test", {"name": "TestSpans"})
        header, results, footer = read_run(tmp_path / "out")
        assert header == {"type": "header", "schema": "looptck-run-1", "verb": "check"}
        assert results == [{"type": "test", "name": "TestSpans"}]
        assert footer is None
        folder.finish({"exit_code": 0})
    assert read_run(tmp_path / "out")[2] == {"type": "footer", "exit_code": 0}


def test_an_earlier_run_is_moved_aside_and_one_before_that_goes(tmp_path: Path) -> None:
    for run in ("first", "second", "third"):
        with RunFolder(tmp_path / "out", {"run": run}):
            pass
    assert read_run(tmp_path / "out")[0]["run"] == "third"
    assert read_run(tmp_path / "out.old")[0]["run"] == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.old"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    with RunFolder(tmp_path, {}):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [RESULTS]


def test_a_folder_with_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all my work")
    with pytest.raises(FolderError, match="holds something else than results"):
        RunFolder(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_of_ours_to_which_somebody_has_added_a_file_is_left_alone(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"run": "first"}):
        pass
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match="holds something else"):
        RunFolder(tmp_path / "out", {})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["notes.txt", RESULTS]


def test_the_folder_of_a_run_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"run": "first"}) as first:
        for place in (tmp_path / "out", tmp_path / "elsewhere" / ".." / "out"):
            with pytest.raises(FolderError, match="another run is writing its results there"):
                RunFolder(place, {"run": "second"})
        first.finish({})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with RunFolder(tmp_path / "out", {"run": "second"}):
        assert read_run(tmp_path / "out.old")[0]["run"] == "first"


def test_a_run_that_goes_on_in_the_folder_for_old_ones_is_left_alone(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"run": "first"}):
        pass
    with RunFolder(tmp_path / "out.old", {"run": "second"}), pytest.raises(FolderError, match="another run is writing"):
        RunFolder(tmp_path / "out", {"run": "third"})
    assert [read_run(tmp_path / name)[0]["run"] for name in ("out", "out.old")] == ["first", "second"]


def test_a_child_that_is_left_of_a_run_holds_no_folder(tmp_path: Path) -> None:
    read, write = os.pipe()
    with RunFolder(tmp_path / "out", {"run": "first"}) as folder:
        if (child := os.fork()) == 0:
            os.read(read, 1)
            os._exit(0)
        folder.finish({})
    try:
        with RunFolder(tmp_path / "out", {"run": "second"}):
            pass
    finally:
        os.write(write, b".")
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


def test_a_child_that_has_not_let_go_of_the_file_yet_holds_no_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"run": "first"}) as folder:
        shared = os.dup(folder._file.fileno())  # as between a fork and the child's first step
    try:
        with RunFolder(tmp_path / "out", {"run": "second"}):
            pass
    finally:
        os.close(shared)


def test_a_link_stands_for_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for run in ("first", "second"):
        with RunFolder(tmp_path / "link", {"run": run}):
            pass
    assert (tmp_path / "link").is_symlink()
    assert [read_run(tmp_path / name)[0]["run"] for name in ("real", "real.old")] == ["second", "first"]


def test_nothing_is_moved_onto_a_link(tmp_path: Path) -> None:
    for name in ("out", "other"):
        with RunFolder(tmp_path / name, {"run": name}):
            pass
    (tmp_path / "out.old").symlink_to("other")
    with pytest.raises(FolderError, match="which is a link"):
        RunFolder(tmp_path / "out", {})
    assert read_run(tmp_path / "other")[0]["run"] == "other"


def test_a_disk_that_is_full_is_told_in_one_line(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {}) as folder, pytest.MonkeyPatch.context() as patched, unwritable() as full:
        patched.setattr(folder, "_file", full)
        with pytest.raises(FolderError, match="No space left on device"):
            folder.add("test", {"name": "TestSpans"})


@contextlib.contextmanager
def unwritable() -> Iterator[TextIO]:
    with contextlib.suppress(OSError), Path("/dev/full").open("a", encoding="utf-8") as full:
        yield full


def test_nothing_is_moved_onto_a_folder_with_anything_else(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {"run": "first"}):
        pass
    (tmp_path / "out.old").mkdir()
    (tmp_path / "out.old" / "thesis.txt").write_text("all my work")
    with pytest.raises(FolderError, match="which holds something else"):
        RunFolder(tmp_path / "out", {})
    assert read_run(tmp_path / "out")[0]["run"] == "first"
    assert (tmp_path / "out.old" / "thesis.txt").exists()


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(FolderError):
        RunFolder(tmp_path / "out", {})
    assert (tmp_path / "out").read_text() == "a file"


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out", {}) as folder:
        folder.add("test", {"name": "TestSpans"})
    with (tmp_path / "out" / RESULTS).open("a") as file:
        file.write('{"type": "test", "na')
    assert read_run(tmp_path / "out")[1:] == ([{"type": "test", "name": "TestSpans"}], None)


@pytest.mark.parametrize(
    "text", ["", "{}\n", "no json\n", "[1]\n", '{"type": "header", "schema": "looptck-run-1"}\n[1]\n']
)
def test_what_is_no_result_of_ours_is_not_read(tmp_path: Path, text: str) -> None:
    (tmp_path / RESULTS).write_text(text)
    with pytest.raises(FolderError):
        read_run(tmp_path)


# the verb


def test_the_command_writes_a_line_for_each_test_and_a_footer(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", "examples/broken_loop.py", "-k", "budget", "--report", str(tmp_path / "out"), "--seed", "3")
    header, results, footer = read_run(tmp_path / "out")
    assert (header["verb"], header["target"], header["seed"]) == ("check", "examples/broken_loop.py", 3)
    assert [result["name"] for result in results] == header["tests"]
    assert footer is not None
    assert (footer["verdict"], footer["exit_code"], ran.code) == ("fail", 1, 1)


def test_a_target_that_cannot_be_used_has_its_line_too(looptck: Any, tmp_path: Path) -> None:
    looptck("check", bad("raises_at_import"), "-k", "hand/answer", "--report", str(tmp_path / "out"))
    _, (result,), footer = read_run(tmp_path / "out")
    assert result["verdict"] == "incomplete"
    assert footer is not None
    assert footer["exit_code"] == 2


def test_a_folder_that_cannot_be_used_is_told_before_the_work(looptck: Any) -> None:
    ran = looptck("check", "reference", "--report", str(ROOT / "docs"))
    assert (ran.code, ran.out) == (4, "")
    assert "--report" in ran.err


def test_a_run_that_is_killed_leaves_all_that_it_had_and_no_footer(tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.write_text(
        "import os, signal\n"
        "from looptck_reference import Agent as Correct\n\n\n"
        "class Agent(Correct):\n"
        "    def __init__(self, *args, **options):\n"
        "        super().__init__(*args, **options)\n"
        "        if options.get('tracer') is not None:\n"
        "            os.kill(int(os.environ['LOOPTCK_TEST_PARENT']), signal.SIGKILL)\n"
    )
    runner = tmp_path / "run.py"
    runner.write_text(
        "import os, sys\n"
        "os.environ['LOOPTCK_TEST_PARENT'] = str(os.getpid())\n"
        "from looptck.__main__ import main\n"
        "sys.exit(main())\n"
    )
    with started("check", str(loop), "--report", str(tmp_path / "out"), "--jobs", "1", program=runner) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    _, results, footer = read_run(tmp_path / "out")
    assert footer is None
    assert "TestHandExample" in [result["name"] for result in results]
    assert all(result["verdict"] == "pass" for result in results)
    assert os.fspath(tmp_path) in json.dumps(read_run(tmp_path / "out")[0])
