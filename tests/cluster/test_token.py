"""Whoever has not the token is refused: by HTTP, by `ray.init` and by our own commands, on a real head."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mulex.errors import UserError
from sweeps.execution.token import keep_private, make_token, token_path, use_token
from tests.support.ray_cluster import RayCluster, run
from tests.support.sweeps import tiny, write_spec

pytest_plugins = ["tests.support.cluster_plugin"]

JOIN = "import ray, sys; ray.init(address=sys.argv[1]); print('joined')"


@pytest.fixture
def stranger(cluster: RayCluster, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody on the same machine with another home."""
    return {**cluster.env, "HOME": str(tmp_path)}


class TestTheFile:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            monkeypatch.delenv(name, raising=False)

    def test_is_made_once_and_for_its_owner_alone(self) -> None:
        before = os.umask(0)
        try:
            path = make_token()
        finally:
            os.umask(before)
        assert path == Path.home() / ".ray" / "auth_token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        token = path.read_text()
        assert len(token) == 64
        assert make_token().read_text() == token
        assert [entry.name for entry in path.parent.iterdir()] == ["auth_token"]

    def test_one_that_everybody_may_read_is_closed(self) -> None:
        path = make_token()
        path.chmod(0o644)
        keep_private(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_two_makers_agree(self) -> None:
        code = "from sweeps.execution.token import make_token; print(make_token().read_text())"
        makers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
        assert len({maker.communicate()[0] for maker in makers}) == 1

    @pytest.mark.parametrize("mode", ["", "on", "k8s", "Token", "DISABLED"])
    def test_a_mode_that_ray_does_not_know_is_refused(self, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ray would start without a token, and not say so."""
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
        with pytest.raises(UserError, match=f"RAY_AUTH_MODE={mode!r}: allowed is token"):
            use_token(make=True)
        assert not token_path().exists()

    def test_only_disabled_turns_it_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        use_token(make=True)
        assert not token_path().exists()
        monkeypatch.delenv("RAY_AUTH_MODE")
        use_token(make=True)
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert token_path().exists()

    def test_a_client_does_not_make_one(self) -> None:
        use_token(make=False)
        assert not token_path().exists()
        assert "RAY_AUTH_MODE" not in os.environ

    def test_who_turned_it_off_keeps_it_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        use_token(make=True)
        assert not token_path().exists()
        assert os.environ["RAY_AUTH_MODE"] == "disabled"


class TestTheHead:
    def test_http(self, cluster: RayCluster) -> None:
        for path in ("/api/version", "/api/jobs/", "/nodes?view=summary"):
            assert cluster.get(path)[0] == 401
            assert cluster.get(path, "0" * 64)[0] == 403
            assert cluster.get(path, cluster.token)[0] == 200

    def test_the_dashboard_listens_on_loopback_alone(self, cluster: RayCluster) -> None:
        port = f":{cluster.dashboard_port:04X}"
        listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        assert {fields[1] for fields in listening if fields[1].endswith(port) and fields[3] == "0A"} == {
            f"0100007F{port}"
        }

    def test_ray_init(self, cluster: RayCluster, stranger: dict[str, str]) -> None:
        join = [sys.executable, "-c", JOIN, cluster.address]
        wrong = {**stranger, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
        answer = run(join, {**wrong, "RAY_NUM_REDIS_GET_RETRIES": "2"})
        assert answer.code != 0
        assert "InvalidAuthToken" in answer.text
        assert "joined" not in answer.text
        assert "joined" in run(join, {**cluster.env, "RAY_AUTH_MODE": "token"}).text

    @pytest.mark.parametrize(
        "said", [{}, {"RAY_AUTH_MODE": "token"}], ids=["no word of a token", "a token that is not there"]
    )
    def test_mulex_sweep(
        self, cluster: RayCluster, stranger: dict[str, str], tmp_path: Path, said: dict[str, str]
    ) -> None:
        spec = write_spec(tmp_path, tiny(search={"draws": 1, "seeds": 1}))
        sweep = ("sweep", spec, "--out", str(tmp_path / "out"), "--address", cluster.address)
        refused = cluster.mulex(*sweep, env={**stranger, **said})
        assert refused.code == 2, refused.text
        assert refused.text.splitlines()[-1].startswith(f"Error: --address {cluster.address}: the cluster asks for its")
        assert "Traceback" not in refused.text
