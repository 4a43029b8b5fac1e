"""The server: what it answers, whom it refuses, how seldom it reads, and what the command says of bad input."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time

import aiohttp
import pytest

from analysis.live import watch
from analysis.live.security import page_token
from analysis.live.watch import Watched
from mulex.store.folder import open_folder
from tests.support.analysis_tables import made
from tests.support.live_server import get, get_json, serving
from tests.support.sweeps import mulex

TOKEN = page_token("secret of a cluster")


@pytest.fixture
def sweep(tmp_path):
    return made(tmp_path / "sweep", draws=2, planned=(3, 2))


def run(work):
    """Run a coroutine function of the server's address."""
    return asyncio.run(asyncio.wait_for(work, 120))


def test_the_list_the_sweep_its_runs_and_one_run(sweep):
    async def work():
        async with serving(sweep) as url:
            listed = (await get_json(f"{url}/api/sweeps"))["sweeps"][0]
            page = await get_json(f"{url}/api/sweeps/sweep")
            runs = await get_json(f"{url}/api/sweeps/sweep/runs?sort=-score&f.method=%3Dmulex&size=25")
            one = await get_json(f"{url}/api/sweeps/sweep/runs/{runs['rows'][0]['run']}")
            spec = await get_json(f"{url}/api/sweeps/sweep/spec")
            return listed, page, runs, one, spec

    listed, page, runs, one, spec = run(work())
    assert [listed[name] for name in ("key", "name", "done", "pending", "total")] == ["sweep", "made", 12, 6, 18]
    assert listed["rate"] is None
    assert [(line["method"], line["done"]) for line in page["lines"]] == [
        ("epsilon_greedy", 4),
        ("additive", 4),
        ("mulex", 4),
    ]
    assert [runs["matched"], runs["total"]] == [4, 12]
    scores = [row["score"] for row in runs["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert len(one["curves"]["columns"]["eval_return"]) == 20
    assert spec["spec"].startswith("name: made")


def test_the_figures_are_made_in_the_background_and_announced(sweep):
    async def work():
        async with serving(sweep) as url, aiohttp.ClientSession() as session:
            async with session.get(f"{url}/api/events?sweep=sweep") as events:
                first = await session.get(f"{url}/api/sweeps/sweep/figures")
                status, announced = first.status, ""
                while not announced:
                    line = (await events.content.readline()).decode()
                    if line.startswith("data: "):
                        announced = json.loads(line.removeprefix("data: "))["sweep"][1]
            async with session.get(f"{url}/api/sweeps/sweep/figures") as answer:
                figures, mark = await answer.json(), answer.headers["ETag"]
            again = await session.get(f"{url}/api/sweeps/sweep/figures", headers={"If-None-Match": mark})
            return status, announced, figures, mark, again.status

    status, announced, figures, mark, again = run(work())
    assert status == 202
    assert mark == f'"{announced}"'
    assert {"curves", "violins", "profiles"} <= {chart["name"] for chart in figures["charts"]}
    assert figures["note"] == "12 of 18 runs"
    assert figures["statistics"][0]["rows"]
    assert again == 304


def test_every_answer_has_a_strict_policy(sweep):
    async def work():
        async with serving(sweep) as url:
            paths = ("/", "/sweeps/sweep", "/page/main.js", "/api/sweeps", "/nowhere", "/page/..%2Fserver.py")
            return [await get(url + path) for path in paths]

    answers = run(work())
    assert [status for status, _, _ in answers] == [200, 200, 200, 200, 404, 404]
    for _, _, headers in answers:
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert "<script>" not in answers[0][1]
    assert "style=" not in answers[0][1]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[", "localhost@e"])
def test_other_names_of_this_machine_are_refused(sweep, host):
    async def work():
        async with serving(sweep) as url:
            return [await get(f"{url}{path}", Host=host) for path in ("/", "/api/sweeps", "/page/main.js")]

    assert [status for status, _, _ in run(work())] in ([403] * 3, [400] * 3)


def test_nothing_can_be_written_and_no_other_path_be_read(sweep):
    async def work():
        async with serving(sweep) as url, aiohttp.ClientSession() as session:
            written = []
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                async with session.request(method, f"{url}/api/sweeps/sweep") as answer:
                    written.append(answer.status)
            read = []
            for path in ("sweeps/..%2F..%2Fetc", "sweeps/nowhere", "sweeps/sweep/runs/..%2F..%2F..%2Fspec.yaml"):
                read.append((await get(f"{url}/api/{path}"))[0])
            return written, read

    assert run(work()) == ([405] * 4, [404] * 3)


def test_bad_queries_are_answered_with_what_is_wrong(sweep):
    async def work():
        async with serving(sweep) as url:
            return await get(f"{url}/api/sweeps/sweep/runs?f.score=high")

    status, text, _ = run(work())
    assert status == 400
    assert "score: 'high' is no filter of numbers" in json.loads(text)["error"]


def test_with_a_token_nobody_sees_anything_without_it(sweep):
    async def work():
        async with serving(sweep, token=TOKEN) as url:
            without = [(await get(url + path))[0] for path in ("/", "/api/sweeps", "/api/events", "/sweeps/sweep")]
            wrong = (await get(f"{url}/?token=wrong"))[0]
            entered = await get(f"{url}/sweeps/sweep?token={TOKEN}&sort=-score")
            cookie = entered[2]["Set-Cookie"].partition(";")[0]
            shown = await get(f"{url}/api/sweeps", Cookie=cookie)
            bearer = await get(f"{url}/api/sweeps", Authorization=f"Bearer {TOKEN}", Host="lab.example")
            return without, wrong, entered, shown[0], bearer[0]

    without, wrong, entered, shown, bearer = run(work())
    assert without == [401] * 4
    assert wrong == 401
    assert entered[0] == 303
    assert entered[2]["Location"] == "/sweeps/sweep?sort=-score"
    assert "HttpOnly" in entered[2]["Set-Cookie"]
    assert "SameSite=Lax" in entered[2]["Set-Cookie"]
    assert [shown, bearer] == [200, 200]


def test_the_page_token_does_not_tell_the_clusters():
    assert page_token("a") != page_token("b")
    assert len(TOKEN) == 32
    assert "secret" not in TOKEN


def test_many_browsers_cause_one_read_every_few_seconds(sweep, monkeypatch):
    monkeypatch.setattr(watch, "ENDED_SECONDS", 1.0)
    monkeypatch.setattr(watch, "LEAST_SECONDS", 1.0)
    reads = 0

    async def counted(self, original=Watched.read):
        nonlocal reads
        reads += 1
        return await original(self)

    monkeypatch.setattr(Watched, "read", counted)

    async def work():
        async with serving(sweep) as url:
            until = time.monotonic() + 2.5
            asked = 0
            while time.monotonic() < until:
                await asyncio.gather(*[get_json(f"{url}/api/sweeps/sweep") for _ in range(20)])
                asked += 20
            return asked

    assert run(work()) >= 40
    assert 1 <= reads <= 3


def test_storage_that_fails_is_said_and_what_was_read_stays(tmp_path, monkeypatch):
    folder = made(tmp_path / "sweep", draws=2)
    monkeypatch.setattr(watch, "ENDED_SECONDS", 0.2)

    async def work():
        async with serving(folder) as url:
            before = await get_json(f"{url}/api/sweeps/sweep")
            (tmp_path / "sweep" / "runs.parquet").write_bytes(b"nothing")
            for _ in range(100):
                after = await get_json(f"{url}/api/sweeps/sweep")
                if after["problem"]:
                    break
                await asyncio.sleep(0.1)
            return before, after

    before, after = run(work())
    assert before["problem"] == ""
    assert "runs.parquet" in after["problem"]
    assert after["done"] == before["done"] == 12


@pytest.mark.parametrize("command", ["serve", "report"])
def test_bad_input_is_one_line_and_code_2(sweep, tmp_path, command):
    options = ["--serve"] if command == "report" else []
    for path, words in ((tmp_path / "nowhere", "no such folder"), (tmp_path / "empty", "neither a sweep")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        answer = mulex(command, str(path), *options, "--port", "0")
        assert answer.code == 2
        assert words in answer.text
        assert answer.text.count("\n") == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = mulex(command, sweep, *options, "--port", str(taken.getsockname()[1]))
    assert answer.code == 2
    assert "in use; another port may be free" in answer.text
    assert answer.text.count("\n") == 1


def test_another_interface_needs_a_token(sweep, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    answer = mulex("serve", sweep, "--host", "0.0.0.0", "--port", "0")
    assert answer.code == 2
    assert "needs a token and there is none; make one with mulex token" in answer.text
    answer = mulex("serve", sweep, "--host", "no.such.host.invalid", "--port", "0")
    assert answer.code == 2


# Shells start background jobs deaf to Ctrl-C; the command is to hear it all the same.
SERVE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cluster.cli", run_name="__main__")
"""


def test_the_command_serves_until_it_is_interrupted(sweep, tmp_path):
    (tmp_path / "token").write_text("abc")
    command = [sys.executable, "-c", SERVE, "serve", sweep, "--port", "0", "--host", "0.0.0.0"]
    env = {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "token"), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            link = process.stdout.readline().split()[0]
            port = link.partition("//")[2].rpartition(":")[2].partition("/")[0]
            assert run(get(f"http://127.0.0.1:{port}/"))[0] == 401
            assert run(get(f"http://127.0.0.1:{port}/?{link.partition('?')[2]}"))[0] == 303
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr.read().strip() == ""
        finally:
            process.kill()
    assert link.endswith(f"?token={page_token('abc')}")


def test_a_bucket_is_served_too(tmp_path):
    import fsspec

    made(tmp_path / "sweep", draws=2, planned=(3, 2))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "sweep"), "/served/group/sweep", recursive=True)
    assert open_folder("memory://served").folders() == ["group"]

    async def work():
        async with serving("memory://served") as url:
            return await get_json(f"{url}/api/sweeps/group-sweep"), await get_json(
                f"{url}/api/sweeps/group-sweep/runs/made-w5-mulex-0-0"
            )

    try:
        page, one = run(work())
    finally:
        memory.rm("/served", recursive=True)
    assert page["done"] == 12
    assert len(one["curves"]["columns"]["eval_return"]) == 20
