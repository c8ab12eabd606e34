"""Servers that people use, where their programs are here: GRIDC_SERVERS names them.

GRIDC_SERVERS="llama.cpp=/path/of/llama-server,vllm=/environment/bin/vllm"
"""

import os
import socket
from pathlib import Path

from tools.servers.gguf import write_gguf

STARTED = {
    "llama.cpp": "{} -m {} --port {} -t {} -np 8 -c 32768",
    "vllm": "env VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 {} serve {} --port {} "
    "--served-model-name pocket --dtype float32 --max-model-len 2048 --enforce-eager",
}
"""How each is started: the program, the model, the port and, of llama.cpp, threads."""


def programs() -> dict[str, str]:
    """By dialect: the program that speaks it."""
    pairs = os.environ.get("GRIDC_SERVERS", "").split(",")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def command(dialect: str, program: str, folder: Path, port: int, threads: int) -> str:
    """What starts a server of the model in a folder."""
    model = folder
    if dialect == "llama.cpp":
        write_gguf(folder, model := folder.with_suffix(".gguf"))
    return STARTED[dialect].format(program, model, port, threads)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
