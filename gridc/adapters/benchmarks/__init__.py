"""Files of published benchmarks, as items: a module each, which registers in `compiler.inputs.loaders.files`.

`docs/benchmarks.md` says of each which file it reads, which answer is right and what is odd about it.
"""
