"""The notebook runs from top to bottom, and shows what its text promises."""

from pathlib import Path

import nbformat
import pytest

NOTEBOOK = Path("examples/robustness.ipynb")


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    return NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()


def results(notebook: nbformat.NotebookNode) -> list[dict[str, str]]:
    """The data of each code cell's result, by its MIME type."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.data for output in outputs if output.output_type == "execute_result"]


def test_it_draws_three_figures(executed):
    assert sum("image/png" in data for data in results(executed)) == 3


def test_it_prints_statistics_of_every_method(executed):
    statistics = results(executed)[1]["text/plain"]
    assert "iqm" in statistics
    assert all(method in statistics for method in ("epsilon_greedy", "additive", "mulex"))


def test_nothing_is_written_to_stderr(executed):
    outputs = [output for cell in executed.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []


def test_it_is_stored_without_outputs():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.outputs for cell in cells if cell.cell_type == "code")
