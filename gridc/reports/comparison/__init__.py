"""Two runs, compared: are they the same instrument, and is the second worse by more than a margin?

Stores and logs become a `ComparedRun` (`run`); `pairing` says which items are the same and what differs
between the two but for the scores; `decision` tests each benchmark and comes to a verdict under a policy;
`document` puts them together and writes it down.
"""
