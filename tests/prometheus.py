"""A real Prometheus scrapes a running sweep, and every query of cluster/grafana.json has an answer.

Run with `python -m tests.prometheus`; needs Prometheus: apt-get install prometheus.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.sweeps import ROOT, Process, tiny, wait_until, write_spec

PORT = 19191
SPEC = tiny(training={"iterations": 100_000}, search={"draws": 1, "seeds": 2}, execution={"max_concurrent": None})
CONFIG = """\
global: {{scrape_interval: 2s}}
scrape_configs:
  - job_name: ray
    file_sd_configs: [{{files: ["{found}"], refresh_interval: 1s}}]
"""


def queries() -> dict[str, str]:
    """The queries of the dashboard by the titles of their panels."""
    panels = json.loads((ROOT / "cluster" / "grafana.json").read_text())["panels"]
    return {f"{panel['title']} {target['refId']}": target["expr"] for panel in panels for target in panel["targets"]}


def ask(query: str) -> list[Any]:
    """Prometheus's answer."""
    address = f"http://127.0.0.1:{PORT}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            found = json.load(answer)
    except OSError:  # it is starting
        return []
    assert found["status"] == "success", found
    return list(found["data"]["result"])


def main() -> None:
    """Launch a sweep, scrape it, and print what each query says."""
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("no Prometheus here: apt-get install prometheus")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="p") as place:
        spec = write_spec(Path(place), SPEC)
        with Process("sweep", spec, "--out", f"{place}/out", "--cpus", "2", "--dashboard") as sweep:
            pattern = "**/prom_metrics_service_discovery.json"
            found = wait_until(lambda: next(sweep.ray_folder.glob(pattern), None), 120, "the list of what to scrape")
            (Path(place) / "prometheus.yml").write_text(CONFIG.format(found=found))
            options = [f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data"]
            command = [program, *options, f"--web.listen-address=127.0.0.1:{PORT}"]
            with (Path(place) / "log").open("w") as log:
                scraper = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
            try:
                check()
            finally:
                scraper.terminate()
                scraper.wait(20)
            sweep.signal_all(2)
            sweep.wait(60)


def check() -> None:
    """Wait until every query has an answer, and print it."""
    began = time.monotonic()
    for title, query in queries().items():
        answer = wait_until(lambda query=query: ask(query), 150, f"an answer to {title}", look=1.0)
        shown = ", ".join(f"{'/'.join(one['metric'].values()) or 'all'}: {one['value'][1]}" for one in answer)
        print(f"{title}: {shown} (after {time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
