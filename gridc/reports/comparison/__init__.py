"""Two runs, compared: are they the same instrument, and is the second worse by more than a margin?

Stores and logs become a `ComparedRun` (`stored`); `instrument` says what differs between the two but for the
scores; `evidence` tests each benchmark; `decision` comes to a verdict under a policy; `document` puts them
together, and `markdown`, `junit` and `alerts` write it down.
"""
