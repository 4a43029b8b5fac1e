"""An empty database of MLflow, which takes MLflow seconds to make, once for all tests."""

import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient


@pytest.fixture(scope="session")
def empty_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments(max_results=1)
    return path


@pytest.fixture
def mlflow_uri(empty_mlflow: Path, tmp_path: Path) -> str:
    """A database of the test's own."""
    shutil.copy(empty_mlflow, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path}/mlflow.db"
