"""`mulex play` as its users meet it: in a terminal, in files, and with mistakes."""

import os
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cluster import cli
from mulex.commands import play_files
from mulex.commands.play_session import ACTION_OF, POLICIES, Game, play_by_hand, run, watch
from mulex.commands.play_terminal import names
from mulex.worlds.pictures.render import map_picture, picture
from mulex.worlds.world import build_world

# The terminal becomes the new session's own, so that its control-C reaches it, also where the tests themselves run in
# the background and take no notice of it.
IN_TERMINAL = (
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler); from cluster.cli import main; main()"
)


class TerminalSession:
    """`mulex play` in a pseudo-terminal of 30 lines, and somebody typing."""

    def __init__(self, *arguments: str, lines: int = 30) -> None:
        self.keyboard, self.terminal = os.openpty()
        termios.tcsetwinsize(self.terminal, (lines, 80))
        self.before = termios.tcgetattr(self.terminal)
        self.written = ""
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), self.terminal)
        env = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
        env["TERM"] = "xterm-256color"
        command = [sys.executable, "-c", IN_TERMINAL, "play", *arguments]
        self.process = subprocess.Popen(command, start_new_session=True, env=env, **ends)

    def __enter__(self) -> "TerminalSession":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.keyboard)
        os.close(self.terminal)

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def read_until(self, text: str) -> str:
        """What the terminal shows once a text has been written."""
        start, deadline = len(self.written), time.monotonic() + 20
        while text not in self.written[start:]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.written[start:]!r}"
            self.read(0.1)
        self.read(0.1)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.written.rpartition("\x1b[H")[2])

    def read(self, seconds: float) -> None:
        while select.select([self.keyboard], [], [], seconds)[0]:
            self.written += os.read(self.keyboard, 65536).decode()

    def end(self) -> int:
        """The exit code, when the terminal is as it was before."""
        code = self.process.wait(timeout=60)
        self.read(0.1)
        assert termios.tcgetattr(self.terminal) == self.before
        assert self.written.rfind("\x1b[?1049l") > self.written.rfind("\x1b[?1049h"), "the other screen is still on"
        assert self.written.rfind("\x1b[?25h") > self.written.rfind("\x1b[?25l"), "the cursor is still hidden"
        return code


def agent_at(screen: str) -> tuple[int, int]:
    """(row, col) of the agent on a screen with the whole map, two characters a cell."""
    row = next(i for i, line in enumerate(screen.splitlines()) if "@@" in line)
    return row, screen.splitlines()[row].index("@@") // 2


def test_by_hand_the_keys_move_the_agent_and_q_quits() -> None:
    with TerminalSession() as session:
        assert agent_at(session.read_until("step 0 of 500")) == (1, 1)
        session.press("\x1b[C")
        assert agent_at(session.read_until("step 1 of 500")) == (1, 2)
        session.press("\x1bOBs")  # the other code that terminals send for an arrow, then a letter
        assert agent_at(session.read_until("step 3 of 500")) == (3, 2)
        session.press("h")
        assert agent_at(session.read_until("step 4 of 500")) == (3, 1)
        session.press("r")
        assert agent_at(session.read_until("step 0 of 500")) == (1, 1)
        session.press("q")
        assert session.end() == 0


def test_by_hand_to_the_first_key() -> None:
    with TerminalSession("--room-size", "3") as session:
        session.read_until("held: nothing")
        session.press("ddss")
        screen = session.read_until("held: key 1")
        assert "return 1, step 4 of 300" in screen
        assert "AA" not in screen and "BB" in screen
        session.press("\x04")
        assert session.end() == 0


def test_by_hand_in_a_terminal_smaller_than_the_map() -> None:
    with TerminalSession("--room-size", "20", lines=12) as session:
        session.read_until("step 0")
        session.press("s" * 15)
        screen = session.read_until("step 15")
        assert len(screen.splitlines()) <= 12
        assert "@@" in screen
        session.press("q")
        assert session.end() == 0


def test_control_c_leaves_the_terminal_as_it_was() -> None:
    with TerminalSession() as session:
        session.read_until("step 0")
        session.press("\x03")
        assert session.end() == 130
        assert "Traceback" not in session.written


def test_a_policy_in_the_terminal_moves_and_leaves_its_summary() -> None:
    with TerminalSession("--map", "two_rooms", "--room-size", "3", "--policy", "optimal", "--fps", "50") as session:
        session.read_until("return 2 in 10 steps: reached the exit")
        assert session.end() == 0
        for step in range(11):
            assert f"step {step} of 300" in session.written


def mulex(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run `mulex play` here, without a terminal: its exit code."""
    monkeypatch.setattr(sys, "argv", ["mulex", "play", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs a terminal"),
        (["--room-size", "2"], "from 3 to 50"),
        (["--room-size", "51", "--map-picture", "x.png"], "from 3 to 50"),
        (["--ghosts", "99"], "from 0 to 16"),
        (["--time-limit", "0"], "time_limit"),
        (["--time-limit", str(2**53)], "from 1 to 1,000,000"),
        (["--map", "corridor", "--hard"], "no parallel world"),
        (["--gif", "x.gif"], "--gif needs --policy"),
        (["--fps", "9"], "--fps needs --policy"),
        (["--episodes", "2"], "--episodes needs --policy"),
        (["--map-picture", "x.png", "--policy", "random"], "do not go together"),
        (["--map-picture", "x.png", "--seed", "0"], "--map-picture and --seed"),
        (["--map-picture", "x.png", "--window"], "--map-picture and --window"),
        (["--policy", "random", "--gif", "x.gif", "--window"], "--gif and --window"),
        (["--map-picture", "x.xyz"], "x.xyz: the suffix"),
        (["--map", "x.xyz"], "x.xyz: the suffix"),
        (["--map", "maze"], "'maze' is not one of montezuminha, two_rooms, corridor"),
        (["--map-picture", "x"], "x: the suffix"),
        (["--map-picture", "no/such/folder/x.png"], "no folder no/such/folder"),
        (["--policy", "random", "--gif", "x.png"], "allowed is .gif"),
    ],
)
def test_a_users_mistake_is_one_clear_line(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mulex(monkeypatch, *arguments) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("Error: ") and written.err.count("\n") == 1
    assert message in written.err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("arguments", [["--policy", "best"], ["--room-size", "wide"], ["--seed", "-1"], ["--fps", "0"]])
def test_wrong_values_are_wrong_usage(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mulex(monkeypatch, *arguments) == 2
    assert arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--map-picture", "x.png"], ["--policy", "optimal", "--gif", "x.gif"]])
def test_a_file_that_cannot_be_written(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(arguments[-1]).mkdir()
    assert mulex(monkeypatch, "--map", "corridor", *arguments) == 2
    assert f"{arguments[-1]}: cannot be written: Is a directory" in capsys.readouterr().err


def test_without_pygame_a_window_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert mulex(monkeypatch, "--window") == 2
    assert "pip install 'mulex[human]'" in capsys.readouterr().err


def test_without_a_display_a_window_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "no_such_driver")
    assert mulex(monkeypatch, "--window") == 2
    assert "no window can be opened here" in capsys.readouterr().err


def test_a_policy_in_a_window(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert mulex(monkeypatch, "--window", "--policy", "optimal", "--map", "corridor", "--fps", 50) == 0
    assert capsys.readouterr().out == "return 1 in 4 steps: reached the exit\n"


def test_earlier_spellings_of_the_map_options_still_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`--layout NAME` was the map's name, and `--map FILE.png` drew it."""
    old, new = tmp_path / "old.png", tmp_path / "new.png"
    assert mulex(monkeypatch, "--map", old, "--layout", "two_rooms", "--room-size", 3) == 0
    assert mulex(monkeypatch, "--map-picture", new, "--map", "two_rooms", "--room-size", 3) == 0
    assert old.read_bytes() == new.read_bytes()


@pytest.mark.parametrize("suffix", ["png", "jpg", "pdf", "webp"])
def test_the_map_is_written_in_the_format_of_the_suffix(
    suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / f"map.{suffix}"
    assert mulex(monkeypatch, "--map-picture", file, "--hard", "--room-size", 3) == 0
    if suffix == "pdf":
        assert file.read_bytes().startswith(b"%PDF")
    else:
        expected = map_picture(build_world(room_size=3, hard=True))
        drawn = np.asarray(Image.open(file).convert("RGB"))
        assert drawn.shape == expected.shape
        assert np.abs(drawn.astype(int) - expected).mean() < (1 if suffix == "png" else 8)


def test_the_gif_shows_every_step_and_ends_at_the_exit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "optimal.gif"
    assert mulex(monkeypatch, "--policy", "optimal", "--gif", file) == 0
    assert capsys.readouterr().out.startswith("return 4 in 58 steps: reached the exit\n")
    world = build_world()
    game = Game(world, 0)
    *_, summary = run(game, POLICIES["optimal"](world, 0), 1)
    with Image.open(file) as gif:
        assert gif.n_frames == 58 + 1
        gif.seek(58)
        shown = np.asarray(gif.convert("RGB")).astype(int)
    expected = picture(world, game.state, game.ghosts, game.caption())
    assert "return 4" in game.caption() and summary.startswith("return 4")
    assert np.abs(shown - expected).mean() < 3  # a GIF has few colours


def test_several_episodes_in_one_gif(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "random.gif"
    limits = ("--map", "corridor", "--time-limit", 6, "--episodes", 3, "--seed", 4)
    assert mulex(monkeypatch, "--policy", "random", "--gif", file, *limits) == 0
    lengths = [int(n) for n in re.findall(r"in (\d+) steps", capsys.readouterr().out)]
    assert len(lengths) == 3
    with Image.open(file) as gif:
        assert gif.n_frames == sum(lengths) + 3


def test_a_gif_that_would_not_fit_in_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(play_files, "_LARGEST_GIF", 10**6)
    assert mulex(monkeypatch, "--policy", "random", "--gif", tmp_path / "long.gif") == 2
    assert re.search(r"more than \d frames; give a smaller --time-limit", capsys.readouterr().err)
    assert not [*tmp_path.iterdir()]


def test_random_play_depends_on_the_seed_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play(*seed: object) -> str:
        assert mulex(monkeypatch, "--policy", "random", "--episodes", 3, "--ghosts", 2, *seed) == 0
        return capsys.readouterr().out

    assert play("--seed", 7) == play("--seed", 7)
    assert len({play("--seed", seed) for seed in range(4)}) == 4
    assert play() != play()


def test_how_an_episode_ended_is_said() -> None:
    world = build_world(ghosts=1)
    game = Game(world, 0)
    endings = {summary.partition(": ")[2] for summary in run(game, POLICIES["optimal"](world, 0), 40)}
    assert endings == {"caught by a ghost", "reached the exit"}
    world = build_world(time_limit=5)
    assert [*run(Game(world, 0), POLICIES["random"](world, 0), 1)] == ["return 0 in 5 steps: time is up"]


class ScriptedScreen:
    """Gives keys from a list, and remembers the captions it was shown."""

    def __init__(self, keys: list[str | None]) -> None:
        self.keys = iter([*keys, "q"])
        self.captions: list[str] = []

    def show(self, game: Game, hint: str) -> None:
        self.captions.append(game.caption())

    def key(self, seconds: float) -> str | None:
        return next(self.keys)


def test_after_the_end_only_a_restart_goes_on() -> None:
    screen = ScriptedScreen(["right", "right", "right", None, "left", "x", "r", "right"])
    play_by_hand(Game(build_world("corridor", 3), 0), screen)
    steps = [caption.split()[3] for caption in screen.captions]
    assert steps == ["0", "1", "2", "2", "2", "2", "0", "1"]
    assert screen.captions[2] == "return 1, step 2 of 300: reached the exit"


def test_a_viewer_can_quit_between_steps() -> None:
    world = build_world()
    screen = ScriptedScreen([None, None, None])
    assert watch(Game(world, 0), POLICIES["optimal"](world, 0), screen, episodes=2, fps=50) == []
    assert len(screen.captions) == 4


def test_keys_of_a_terminal() -> None:
    assert names("\x1b[A\x1b[C\x1bOB\x1b[D") == ["up", "right", "down", "left"]
    assert names("wq") == ["w", "q"]
    assert names("\x1b[1;5A") == ["up"]
    assert names("") == names("\x04") == ["q"]
    assert not set(names("\x1b[3~\x1b")) & set(ACTION_OF)
    assert [ACTION_OF[key] for key in "wdsa"] == [ACTION_OF[key] for key in "kljh"] == [0, 1, 2, 3]


def test_playing_needs_neither_torch_nor_ray() -> None:
    check = "import mulex.commands.play, sys; print(sorted({'torch', 'ray', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
