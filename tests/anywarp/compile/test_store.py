"""Compiled kernels on disk: their names, what is read and written, given folders, the cache."""

import hashlib
import json
import os
import subprocess
import sys
import warnings

import pytest
from building import ROOT

from anywarp import build
from anywarp.compile import headers, nvrtc, store
from anywarp.compile.nvrtc import Compiled, Refused
from anywarp.compile.store import Compilation, Recipe

RECIPE = Recipe("// für\n#include <cmath>\n", "a.cu", ("-DBM=8",), ("f",), "sm_90")
MADE = Compiled("PTX", b"\x7fELF\0\0", "log", {"f": "f"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    folder.mkdir()
    monkeypatch.setattr(store, "_given", [folder])
    return folder


def put(recipe=RECIPE, made=MADE):
    store.write(store._given[0] / store.name_of(recipe), Compilation(recipe, made, (12, 9)))


def test_what_is_written_is_found_and_the_same_bytes_each_time(folder):
    assert store.given(RECIPE) is None
    written = []
    for _ in range(2):
        put()
        (path,) = folder.iterdir()
        written.append(path.read_bytes())
    assert store.given(RECIPE) == Compilation(RECIPE, MADE, (12, 9)) and len({*written}) == 1


def test_a_refusal_is_kept():
    virtual = RECIPE._replace(arch="compute_90")
    put(virtual, Refused("a.cu(1): error"))
    assert store.given(virtual).made == Refused("a.cu(1): error")
    put(made=Refused("ptxas alone may have refused"))
    assert store.given(virtual) is None


@pytest.mark.parametrize("part, other", [
    ("source", "//"), ("filename", "b.cu"), ("options", ()), ("names", ()), ("arch", "sm_90a"),
])  # fmt: skip
def test_whatever_differs_is_another_file(part, other):
    put()
    assert store.given(RECIPE._replace(**{part: other})) is None


def test_ptx_is_that_of_the_gpu(folder):
    virtual = RECIPE._replace(arch="compute_90")
    put()
    assert store.given(virtual).made == Compiled("PTX", None, "", {"f": "f"})
    put(virtual, Compiled("PTX", None, "", {}))
    assert len(list(folder.iterdir())) == 1
    assert store.given(virtual).made.ptx == "PTX" and store.given(RECIPE) is None


@pytest.mark.parametrize(
    "source, options",
    [
        ('  # include "outer.cuh"\n#include <absent.h>\n', ()),  # beside the source
        ("#include <sub/inner.cuh>\n", ("-I{}",)),
        ("#include <sub/inner.cuh>\n", ("-DX=1", "--include-path={}")),
        ("#include <sub/inner.cuh>\n", ("-I", "{}")),
        ("", ("-I{}", "-include=sub/inner.cuh")),
        ("", ("-I{}", "--pre-include sub/inner.cuh")),
        ("#include <added.cuh>\n", ()),
    ],
)
def test_headers_count(source, options, monkeypatch, tmp_path):
    (tmp_path / "outer.cuh").write_text('#include "sub/middle.cuh"\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "middle.cuh").write_text('#include "inner.cuh"\n')
    inner = tmp_path / "sub" / "inner.cuh"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "added.cuh").write_text('#include "../sub/inner.cuh"\n')
    monkeypatch.setattr(headers, "added", [tmp_path / "more"])
    options = tuple(option.format(tmp_path) for option in options)
    recipe = RECIPE._replace(source=source, options=options, filename=str(tmp_path / "a.cu"))
    names = []
    for text in ("42", "43", "42"):
        inner.write_text(f"#define ANSWER {text}\n")
        names.append(store.name_of(recipe))
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize("old, new, same", [(b"uint", b"uint32", 0), (b"\n", b"\r\n", 1)])
def test_the_prelude_counts_but_not_how_its_lines_end(monkeypatch, tmp_path, old, new, same):
    first, text = store.name_of(RECIPE), headers.PRELUDE.read_bytes()
    (tmp_path / "prelude.h").write_bytes(text.replace(old, new))
    monkeypatch.setattr(headers, "PRELUDE", tmp_path / "prelude.h")
    assert (store.name_of(RECIPE) == first) == same


def test_notes(monkeypatch, tmp_path):
    store.note(RECIPE)  # nobody wants to know
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv(store.NOTES, str(notes))
    both = [RECIPE._replace(arch="compute_90"), RECIPE]
    for recipe in [*both, *both]:
        store.note(recipe)
    assert sorted(store.noted(notes)) == sorted(both)
    assert all(json.loads(path.read_text()) for path in notes.iterdir())


# ---------------------------------------------------------------------- what is given, and damaged

SOURCE = 'extern "C" __global__ void f(int* x) { *x = 1; }'
REAL = Recipe(SOURCE, "a.cu", (), ("f",), "compute_90")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, and a build that remembers nothing."""
    monkeypatch.setenv(store.CACHE, str(tmp_path / "cache"))
    build.compile.cache_clear()
    store._sums.cache_clear()
    yield tmp_path / "cache"
    build.compile.cache_clear()
    store._sums.cache_clear()


def truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def emptied(path):
    path.write_bytes(b"")


def no_archive(path):
    path.write_bytes(b"hello")


def a_folder(path):
    path.unlink()
    path.mkdir()


def changed(path):
    """It can be read, and has other PTX than was given."""
    compilation = store.read(path.read_bytes())
    store.write(path, compilation._replace(made=compilation.made._replace(ptx="other")))


@pytest.mark.parametrize("damage", [truncated, emptied, no_archive, a_folder, changed])
def test_a_given_file_that_is_damaged_is_left_out(folder, cache, monkeypatch, damage):
    put(REAL, Compiled("given", None, "", {"f": "f"}))
    (path,) = folder.iterdir()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / store.SUMS).write_text(f"{digest}  {path.name}\nnonsense\n")
    assert build.compile(*REAL).ptx == "given"
    build.compile.cache_clear()
    damage(path)
    with pytest.warns(RuntimeWarning, match=f"{path} is damaged or was changed: .+"):
        assert "st.global" in build.compile(*REAL).ptx  # by NVRTC
    monkeypatch.setattr(nvrtc, "load", lambda: (_ for _ in ()).throw(ImportError("none")))
    build.compile.cache_clear()
    with (
        pytest.warns(RuntimeWarning, match="left out"),
        pytest.raises(build.NoCompiler, match=f"a.cu .* did not come .*{path.name} is damaged"),
    ):
        build.compile(*REAL)


def test_a_folder_has_to_be_one(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_given", [])
    with pytest.raises(NotADirectoryError, match="absent is no folder of compiled kernels"):
        store.compiled_in(tmp_path / "absent")
    for _ in range(2):
        store.compiled_in(str(tmp_path))
    assert store._given == [tmp_path.resolve()]


# ---------------------------------------------------------------------- the cache

SCRIPT = f"""
import hashlib
from anywarp import build
from anywarp.compile import nvrtc
made, compile = [], nvrtc.compile
nvrtc.compile = lambda *words: made.append(words) or compile(*words)
ptx = [build.compile({SOURCE!r}, f"{{name}}.cu", (), ("f",)).ptx for name in "ab"]
print(len(made), hashlib.sha256("".join(ptx).encode()).hexdigest())
"""


def started(**environment):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_a_second_process_compiles_nothing(cache):
    first, second = (started().communicate()[0].split() for _ in range(2))
    assert (first[0], second[0]) == ("2", "0") and first[1] == second[1]
    assert started(**{store.CACHE: "none"}).communicate()[0].split()[0] == "2"


def test_several_processes_at_once(cache):
    processes = [started() for _ in range(3)]
    said = {process.communicate()[0].split()[1] for process in processes}
    assert len(said) == 1 and not any(process.returncode for process in processes)
    assert len(list(cache.iterdir())) == 2 and all(map(store.OWN.fullmatch, os.listdir(cache)))


@pytest.fixture
def compiled(monkeypatch):
    """What NVRTC is asked for, by file name."""
    asked, compile = [], nvrtc.compile
    monkeypatch.setattr(nvrtc, "compile", lambda *words: asked.append(words[1]) or compile(*words))
    return asked


def again():
    build.compile.cache_clear()
    with warnings.catch_warnings(action="error"):
        return build.compile(*REAL)


@pytest.mark.parametrize("damage", [truncated, emptied, no_archive])
def test_a_damaged_file_of_the_cache_is_compiled_again(cache, compiled, damage):
    made = again()
    (path,) = cache.iterdir()
    damage(path)
    assert again() == again() == made and len(compiled) == 2


def test_an_error_is_kept_too(cache, compiled):
    for _ in range(2):
        build.compile.cache_clear()
        with pytest.raises(build.CompileError, match="a.cu:1: error"):
            build.compile("int x = y;", "a.cu", (), ("f",))
    assert len(compiled) == 1


def test_another_compiler_makes_it_anew(cache, compiled, monkeypatch):
    again()
    monkeypatch.setattr(build, "_dated", lambda path: (str(path), 1))  # as after an update
    again()
    assert len(compiled) == len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    "call", ["os.replace", "os.chmod", "tempfile.mkstemp", "pathlib.Path.mkdir"]
)
def test_a_disk_that_takes_nothing_is_as_none(cache, compiled, monkeypatch, call):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    cache.mkdir()
    monkeypatch.setattr(call, fails)
    again(), again()
    assert len(compiled) == 2 and not list(cache.iterdir())
    cache.rmdir()
    cache.write_text("a file")
    again()
    assert len(compiled) == 3 and cache.read_text() == "a file"


def test_what_was_not_read_for_longest_goes_and_nothing_else(cache, monkeypatch):
    cache.mkdir()
    (cache / "thesis.tar.bz2").write_bytes(bytes(5000))
    half = cache / f"{'0' * 24}.tar.bz2.abc.part"  # of a process that was killed
    half.write_bytes(bytes(500))
    os.utime(half, (1, 1))
    recipes = [REAL._replace(filename=f"{n}.cu") for n in range(4)]
    for n, recipe in enumerate(recipes[:3]):
        store.keep(Compilation(recipe, MADE, (12, 9)), n)
        os.utime(cache / store.name_of(recipe, n), (n + 2, n + 2))
    size = (cache / store.name_of(recipes[0], 0)).stat().st_size
    monkeypatch.setattr(store, "CACHE_BYTES", 3 * size + 50)
    assert store.cached(recipes[0], 0)  # it was read
    store._shrink.cache_clear()  # as in another process
    store.keep(Compilation(recipes[3], MADE, (12, 9)), 3)
    assert [bool(store.cached(recipe, n)) for n, recipe in enumerate(recipes)] == [1, 0, 1, 1]
    assert not half.exists() and (cache / "thesis.tar.bz2").exists()


@pytest.mark.parametrize(
    "platform, variables, folder",
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/anywarp"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/anywarp"),
        ("darwin", {"HOME": "/home/me"}, "/home/me/Library/Caches/anywarp"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/anywarp"),
        ("linux", {store.CACHE: "/mine", "XDG_CACHE_HOME": "/x"}, "/mine"),
        ("linux", {store.CACHE: "none"}, None),
    ],
)
def test_where_the_cache_is(platform, variables, folder, monkeypatch):
    for name in (store.CACHE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert store.cache_folder() == (folder and type(ROOT)(folder))
