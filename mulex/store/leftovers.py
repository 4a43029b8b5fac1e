"""What dead processes leave in a sweep's folder and nobody will use again."""

from mulex.store.checkpoints import begun_packs
from mulex.store.folder import Folder
from mulex.store.layout import CHECKPOINTS

SECONDS = 3600.0
"""Nothing younger is removed: a live process writes a file within seconds, a slow one within minutes."""


def sweep_leftovers(folder: Folder, older_than: float = SECONDS) -> list[str]:
    """Remove parts of interrupted writes, and checkpoints that do not say which runs they are of.

    Call it at the end of a launch, when every pack has taken up its checkpoints: a pack names its runs beside them,
    so those without such a list are of packs that no launch trains any more. Returns the names of what was removed.
    """
    removed = [*folder.remove_parts(older_than)]
    begun = begun_packs(folder)
    for name, age in folder.ages(CHECKPOINTS).items():
        if name.split("/")[1] not in begun and age > older_than:
            folder.remove(name)
            removed.append(name)
    return removed
