from gridc.diagnostics.errors import Diagnostic as Diagnostic
from gridc.diagnostics.errors import GridcError as GridcError
from gridc.study import OpenStudy as OpenStudy
from gridc.study import RayCluster as RayCluster
from gridc.study import Trust as Trust
from gridc.study import diff as diff
from gridc.study import open as open
from gridc.study import propagation as propagation

__version__: str
