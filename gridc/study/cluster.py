"""Where a run replicates its local models."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster on which each model has `workers` replicas: the one at `address` (HOST:PORT), or one that
    is started on this machine for the run. By default there is a replica for each GPU, or else each node."""

    address: str | None = None
    workers: int | None = None
