from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vaultmem.surfaces.cli import tab_completion

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print what teaches your shell to complete commands, options, titles and tags.

    \b
    bash:  vaultmem completion bash >> ~/.bashrc
    zsh:   vaultmem completion zsh >> ~/.zshrc      (below compinit)
    fish:  vaultmem completion fish > ~/.config/fish/completions/vaultmem.fish
    """
    made = _completion_class(shell)(
        ctx.find_root().command, {}, "vaultmem", tab_completion.VARIABLE
    )
    click.echo(made.source().strip("\n"))


def _completion_class(shell: str) -> type[ShellComplete]:
    from click import shell_completion

    class Bash(shell_completion.BashComplete):
        source_template = _BASH

    kinds = {
        "bash": Bash,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }
    return kinds[shell]


# Bash takes a name with blanks for several words unless it is quoted, where it is not yet.
_BASH = r"""
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                case ${COMP_WORDS[COMP_CWORD]} in
                    [\"\']*) COMPREPLY+=("$value") ;;
                    *) COMPREPLY+=("$(printf %%q "$value")") ;;
                esac ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
