"""The code of a sweep's learners in its folder, from where every worker takes it."""

from mulex.config import GymWorldConfig
from mulex.errors import UserError
from mulex.learners.code import read_code
from mulex.learners.run_config import LearnerConfig
from mulex.learners.shipping import code_name, fetch_code, ship_code
from mulex.store.folder import Folder
from sweeps.spec import Spec


def ship_learners(folder: Folder, spec: Spec) -> None:
    """Put the code that the methods name into the sweep's folder; code that has changed since is refused."""
    for checksum in _checksums(spec):
        if folder.exists(code_name(checksum)):
            continue
        code = read_code(spec.execution.code or ".")
        if code.checksum != checksum:
            raise UserError(
                f"execution.code: {code.folder} has changed while the spec was read ({checksum} -> {code.checksum}); "
                "launch again"
            )
        ship_code(folder, code)


def use_shipped_code(folder: Folder, spec: Spec) -> None:
    """Let this process import the code that a sweep was launched with, wherever the original is by now."""
    for checksum in _checksums(spec):
        if folder.exists(code_name(checksum)):
            fetch_code(folder, checksum)


def _checksums(spec: Spec) -> set[str]:
    recipes = [method.recipe for method in spec.methods.values() if isinstance(method.recipe, LearnerConfig)]
    worlds = [world for world in spec.worlds.values() if isinstance(world, GymWorldConfig)]
    return {code for code in (*(recipe.code for recipe in recipes), *(world.code for world in worlds)) if code}
