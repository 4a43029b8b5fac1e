"""A spec from a file, with every trouble explained."""

from collections.abc import Sequence
from pathlib import Path

from mulex.errors import UserError
from sweeps.spec import Spec, load_spec


def read_spec(path: Path, overrides: Sequence[str]) -> Spec:
    """Read and check a spec, with the values of --set put into it; a shipped one may be named without its path."""
    if not path.exists() and (shipped := Path(__file__).parents[1] / "specs" / f"{path.name}.yaml").exists():
        path = shipped
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as a spec ({error})") from None
    return load_spec(text, str(path), overrides)
