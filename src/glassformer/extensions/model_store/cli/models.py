"""The command `glassformer models`: those that are installed, and others by name."""

from __future__ import annotations

from pathlib import Path

from glassformer.cli.options import AS_JSON, arg, flag, opt
from glassformer.cli.terminal import show_progress, to_json


def models(
    name: str | None = arg("NAME", "A model to fetch, to pack or to remove.", default=None),
    place: str | None = opt(
        "PLACE", "Fetch from this folder or web address; without NAME, list what it has.", "--from"
    ),
    pack_into: Path | None = opt(
        "FOLDER", "Pack the model NAME into this folder, which then is a PLACE.", "--pack"
    ),
    is_removed: bool = flag("Remove the model NAME, which was fetched before.", "--remove"),
    as_json: bool = AS_JSON,
) -> None:
    """List the models that can be named, and fetch others by name.

    A model that was fetched is named like those of the package. A PLACE is a folder that --pack has
    filled, on this machine or on any web server; the sum of each file is checked, and only the
    files of a model are taken out of it.

    \b
    glassformer models
    glassformer models everyday-fr-en --from https://example.org/models
    glassformer models my-model --pack public/models
    """
    from glassformer.model.files.directory import find_models

    from ..archive import fetch, pack, remove
    from ..index import read_index
    from ..listing import list_installed, tell_models

    if sum(map(bool, (place, pack_into, is_removed))) > 1:
        raise ValueError("--from, --pack and --remove: one of them at a time")
    if name is None:
        if pack_into or is_removed:
            raise ValueError("--pack and --remove need the NAME of a model")
        print(tell_models([*read_index(place).values()] if place else list_installed(), as_json))
        return
    if pack_into:
        print(tell_models([pack(name, pack_into)], as_json))
    elif is_removed:
        folder = remove(name, find_models())
        print(to_json({"removed": str(folder)}) if as_json else f"{folder} is removed")
    elif place:
        listed = read_index(place)
        if name not in listed:
            raise ValueError(f"{place} has no {name}: it has {', '.join(listed) or 'no models'}")
        with show_progress("fetching, bytes", listed[name].bytes) as tell:
            folder = fetch(place, listed[name], find_models(), tell)
        print(to_json({"fetched": str(folder)}) if as_json else f"{folder}: translate with {name}")
    else:
        raise ValueError(f"{name}: --from says where to fetch it, --pack where to pack it")
