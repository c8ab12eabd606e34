"""What git knows of a folder."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None where there is no git, no repository, or nothing of that name."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
