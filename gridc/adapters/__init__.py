"""What others write and read, a module each: files of benchmarks, logs, forms of export, frameworks.

Nothing imports one by its name: each registers where it is defined, and is read when it is first asked for.
"""
