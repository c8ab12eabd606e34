"""The version of each part of gridc's own instrument, by `KIND:NAME`: the part of a stamp that covers gridc
itself.

A stamp covers the words of a study; what becomes of them is decided by code: how a scaffold asks, how an
answer is read and scored, what a sanitiser takes out. Each such part has a version, beside its code. Whoever
changes what a part does raises its version, and says in CHANGELOG.md what moved: `tests/instrument` traces
every part and fails where one does something else under the same version. A refactoring moves nothing.

To add a part, add its version beside it and say in `inputs.resolve` which studies use it.
"""

from collections.abc import Mapping

from gridc.compiler.instrument import (
    forms,
    judging,
    matching,
    methods,
    options,
    points,
    readers,
    render,
    sanitise,
    scaffolds,
    score,
)

PARTS: Mapping[str, int] = {
    **scaffolds.VERSIONS,
    **render.VERSIONS,
    **options.ENUMERATOR_VERSIONS,
    **readers.VERSIONS,
    **forms.VERSIONS,
    **methods.VERSIONS,
    **matching.VERSIONS,
    **options.CANDIDATE_VERSIONS,
    **score.VERSIONS,
    **points.VERSIONS,
    **judging.VERSIONS,
    **sanitise.VERSIONS,
}
