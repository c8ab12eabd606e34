from gridc.diagnostics.errors import Diagnostic as Diagnostic
from gridc.diagnostics.errors import GridcError as GridcError
from gridc.study import OpenStudy as OpenStudy
from gridc.study import RayCluster as RayCluster
from gridc.study import Trust as Trust
from gridc.study import assert_not_worse as assert_not_worse
from gridc.study import baseline as baseline
from gridc.study import certify as certify
from gridc.study import compare as compare
from gridc.study import diff as diff
from gridc.study import open as open
from gridc.study import propagation as propagation
from gridc.study import report_all as report_all
from gridc.study import view as view
from gridc.study import view_pages as view_pages

__version__: str
