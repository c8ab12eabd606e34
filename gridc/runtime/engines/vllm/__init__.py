"""Models that a vLLM server runs, which gridc starts for the duration of a run."""
