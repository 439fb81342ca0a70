from vaultmem.surfaces.cli import run

run()
