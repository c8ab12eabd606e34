"""Logs of other packages: a module each, which registers with `compiler.inputs.logs.records.log_reader`."""
