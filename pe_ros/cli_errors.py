"""Errors on the command line: one clear message and exit code 2, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from pe_sim.errors import PeError


@contextmanager
def errors_for_people() -> Iterator[None]:
    """Turn what a user can mend into a message on stderr; Ctrl-C ends with exit code 0 and no traceback."""
    try:
        yield
    except PeError as fault:
        typer.secho(f"error: {fault}", err=True, fg=typer.colors.RED)
        raise typer.Exit(2) from fault
    except KeyboardInterrupt as end:
        typer.echo("interrupted", err=True)
        raise typer.Exit(0) from end
