"""The native engine against the ways people train a DQN elsewhere: `make bench-peers`."""


def measure() -> dict[str, float]:
    """In a process of its own: its core and its threads must be set before any library starts."""
    import json
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        subprocess.run([sys.executable, "-m", "tests.bench.peers", str(out)], check=True)
        return json.loads(out.read_text())
