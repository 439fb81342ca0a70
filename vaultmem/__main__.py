import sys

if sys.argv[1:2] == ["merge-driver"]:  # git calls it for every note: it starts without the rest
    from vaultmem.git.driver import run as merge_driver

    sys.exit(merge_driver(sys.argv[2:]))

from vaultmem.surfaces.cli import run

run()
