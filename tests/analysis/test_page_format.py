"""The check of the report's scripts and styles finds what it is there for."""

import pytest

from tests.support import page_format


def test_every_file_is_formatted():
    assert len(page_format.page_files()) >= 8
    assert [line for file in page_format.page_files() for line in page_format.problems(file)] == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.js", "const f = (x) => {return x}\n", "not formatted"),
        ("a.css", "p { color: red }\n", "not formatted"),
        ("a.js", f'const text = "{"x" * 120}";\n', "136 characters, more than 120"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    [line] = page_format.problems(tmp_path / name)
    assert problem in line
