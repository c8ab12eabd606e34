"""What recorded runs show: logs of other packages, as scores, certificates and runs to compare.

`cells` puts runs into configurations; `evidence` tests pairs of models with the statistics that certify a
study; `document` puts both together; `compared` is the same for `gridc compare`. A recorded run was not
stamped by gridc: nothing here says so.
"""
