"""`python -m gridc` and the `gridc` command."""

import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` looks in the current folder first, where a stranger's spec may lie with modules beside it.
    del sys.path[0]

# Start-up makes many objects that live as long as the process: looking through them for garbage is waste.
gc.disable()
# What a spec means is gridc's to say: a pydantic plugin that happens to be installed may not change it.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from gridc import deferral  # noqa: E402 (what is above must come before pydantic is imported)

deferral.put_off()

from gridc.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
