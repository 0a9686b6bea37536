"""tests/mutate.py: the faults that it makes, and that it tells which of them tests notice."""

from __future__ import annotations

import subprocess
import textwrap

import pytest

from tests import mutants, mutate


def changes(body, head="def f(a, b, c):"):
    """(kind, old, new) of the mutants of a function."""
    source = f"{head}\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n".encode()
    return {
        (m.kind, m.old, m.new) for m in mutants.sites("x.py", source) if mutants.another(m, source)
    }


@pytest.mark.parametrize(
    "body, expected",
    [
        ("x = a < b", {("comparison", "<", "<=")}),
        ("x = (a) not in (b)", {("comparison", "not in", "in")}),
        ("x = a == b is not c", {("comparison", "==", "!="), ("comparison", "is not", "is")}),
        ("x = 7", {("constant", "7", "8"), ("constant", "7", "(6)")}),
        ("x = a - b", {("operator", "-", "+")}),
        ("x = a and b or c", {("and, or", "and", "or"), ("and, or", "or", "and")}),
        ("x = not a", {("not", "not", "")}),
        ("x += a", {("dropped", "x += a", "pass"), ("operator", "+", "-")}),
        ("a.clear()", {("dropped", "a.clear()", "pass")}),
        ("return a", {("return", "return a", "return None")}),
        ("x = a(b, c)", {("arguments", "b, c", "c, b")}),
        ("x = a(b, *c)", set()),
        ("x = [a, b]", {("element", "a, ", ""), ("element", ", b", "")}),
        (
            "if a:\n    del b",
            {("condition", "a", "True"), ("condition", "a", "False")},
        ),
        ("while a:\n    del b", {("condition", "a", "False")}),
        ("x = [y for y in a if b]", {("condition", "b", "True")}),
        ("x = lambda y: y + a", {("operator", "+", "-")}),
        # what is left out
        ('"""1 + 1"""\nx: list[1] = a', set()),
        ('raise ValueError(f"{a + 1} is less than {b - 1}")', set()),
        ('x = f"{a + 1}"', set()),
        ("pass", set()),
    ],
)
def test_the_changes_of_a_function(body, expected):
    assert changes(body) == expected


def test_only_bodies_of_functions_are_changed():
    assert not changes("x = 1 + 2", "class A:")
    assert not changes("return 1 + 2", "def __repr__(self):")
    assert not changes("pass", "def f(a: 1 = 2) -> 3:")
    assert changes("return 1 + 2", "def g(self):")


def test_the_place_is_right_behind_letters_of_several_bytes():
    source = "def f(a):\n    x = 'é–→'; return a + 1\n".encode()
    (plus,) = [m for m in mutants.sites("x.py", source) if m.kind == "operator"]
    assert plus.apply(source).decode().endswith("return a - 1\n")
    assert plus.difference(source) == [
        "-    x = 'é–→'; return a + 1",
        "+    x = 'é–→'; return a - 1",
    ]
    assert plus.line == 2


@pytest.fixture
def tree(tmp_path):
    """A package of a function that has a test, and one of which half is not tested."""
    files = {
        "kernels/a/one.py": "def f(a, b):\n    return a + b\n",
        "kernels/a/two.py": "def g(a):\n    return a > 5\n",
        "tests/kernels/a/test_one.py": "from kernels.a.one import f\ndef test(): assert f(2, 3)>4",
        "tests/kernels/a/test_two.py": "from kernels.a.two import g\ndef test(): assert not g(1)\n",
        "tests/kernels/b/test_far.py": "from kernels.a.two import g\ndef test(): assert g(9)\n",
        "tests/test_book.py": "def test(): assert False\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_the_choice_is_the_same_for_the_same_seed(tree):
    every = mutate.chosen(tree, ["kernels"], 100, 1)
    assert {m.path for m in every} == {"kernels/a/one.py", "kernels/a/two.py"}
    assert mutate.chosen(tree, ["kernels"], 3, 1) == every[:3]
    assert mutate.chosen(tree, ["kernels"], 100, 2) != every
    assert set(mutate.chosen(tree, ["kernels"], 100, 2)) == set(every)
    assert {m.path for m in mutate.chosen(tree, ["kernels/a/two.py"], 9, 1)} == {"kernels/a/two.py"}
    with pytest.raises(ValueError, match="no Python file below kernels/nothing"):
        mutate.chosen(tree, ["kernels/nothing"], 1, 1)


def test_mutants_are_killed_near_or_far_or_survive(tree):
    every = mutate.chosen(tree, ["kernels"], 100, 1)
    selected = [m for m in every if (m.path[-6:-3], m.new) in WANTED]
    assert len(selected) == 3
    found = {m.new: verdict for m, verdict in mutate.survivors(selected, 1, True, tree)}
    assert found == {
        "-": mutate.Verdict(True, "tests/kernels/a/test_one.py::test"),
        "return None": mutate.Verdict(True, "tests/kernels/b/test_far.py::test"),
        ">=": mutate.Verdict(False),
    }
    assert (tree / "kernels/a/one.py").read_text().endswith("a + b\n")  # a copy was changed
    far = [m for m in selected if m.new == "return None"]
    assert list(mutate.survivors(far, 1, False, tree)) == [(far[0], mutate.Verdict(False))]


WANTED = (("one", "-"), ("two", ">="), ("two", "return None"))


def test_tests_that_fail_without_a_mutant_are_told(tree):
    (tree / "tests/kernels/a/test_two.py").write_text("def test(): assert False\n")
    selected = mutate.chosen(tree, ["kernels"], 1, 1)
    with pytest.raises(RuntimeError, match="test_two.py::test fails without any mutant"):
        list(mutate.survivors(selected, 1, False, tree))


def test_a_mutant_that_does_not_end_is_killed(tree):
    (tree / "tests/kernels/a/test_one.py").write_text("def test():\n    while True: pass\n")
    assert mutate.run_tests(tree, ["tests/kernels/a/test_one.py"], 3) == mutate.Verdict(
        True, "time"
    )


def test_the_tests_that_killed_nearby_come_first(tree, tmp_path):
    runner = mutate.Runner(tree, tmp_path / "copies", 0, True)
    one, two = (mutants.Mutant("kernels/a/one.py", n, "", 0, "", "") for n in (5, 90))
    runner.kills += [(one, "tests/kernels/a/test_b.py::x"), (two, "tests/kernels/a/test_a.py::y")]
    tests = [f"tests/kernels/a/test_{n}.py" for n in "abc"]
    assert runner.ordered(one._replace(line=7), tests) == [
        "tests/kernels/a/test_b.py::x",
        "tests/kernels/a/test_a.py::y",
        "tests/kernels/a/test_b.py",
        "tests/kernels/a/test_a.py",
        "tests/kernels/a/test_c.py",
    ]
    assert mutate.near("kernels/command/targets.py") == ["tests/test_targets.py"]
    assert mutate.near("anywarp/draw/figure.py")[0] == "tests/anywarp/draw/test_figure.py"
    first = mutate.near("anywarp/draw/figure.py")
    assert not set(first) & set(mutate.others(mutate.ROOT, first))
    assert not any("book" in t or "browser" in t for t in mutate.others(mutate.ROOT, first))


EQUIVALENT = """# comment

kernels/a/two.py
-    return a > 5
+    return a >= 5
= nobody asks for 5
"""


def test_equivalent_mutants_are_left_out_and_need_a_reason(tree, tmp_path, monkeypatch):
    path = tmp_path / "equivalent.txt"
    path.write_text(EQUIVALENT)
    every = mutate.chosen(tree, ["kernels"], 100, 1)
    monkeypatch.setattr(mutate, "EQUIVALENT", path)
    assert [m.new for m in every if m not in mutate.chosen(tree, ["kernels"], 100, 1)] == [">="]
    with pytest.raises(ValueError, match="no reason"):
        mutate.equivalents(EQUIVALENT.partition("=  ")[0].replace("= nobody asks for 5", "="))


def test_those_listed_by_hand_are_mutants_of_the_tree(monkeypatch):
    listed = mutate.equivalents(mutate.EQUIVALENT.read_text(encoding="utf-8"))
    for path, lines in listed:
        source = (mutate.ROOT / path).read_bytes()
        found = (
            m
            for m in mutants.sites(path, source)
            if mutate._stripped(m.difference(source)) == lines
        )
        assert next(found, None), (path, lines)


def test_the_command_line_prints_survivors_and_compares_their_share(monkeypatch, capsys, tree):
    monkeypatch.setattr(mutate, "ROOT", tree)
    selected = mutate.chosen(tree, ["kernels"], 4, 1)
    verdicts = [mutate.Verdict(n > 0) for n in range(4)]
    monkeypatch.setattr(mutate, "survivors", lambda chosen, jobs, all: zip(chosen, verdicts))
    assert mutate.main(["--count", "4", "--at-most", "24%"]) == 1
    assert mutate.main(["--count", "4", "--at-most", "25%"]) == 0
    said = capsys.readouterr().out
    assert "1 of 4 mutants survive (25.0%), seed 1" in said
    assert f"{selected[0].path}:2: {selected[0].kind}" in said
