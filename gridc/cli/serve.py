"""`gridc serve`."""

import click

from gridc.cli import terminal


@click.command()
@click.option("--install", is_flag=True, help="Install vLLM in an environment of its own.")
def serve(install: bool) -> None:
    """Say which vLLM runs the models of engine = "vllm", or install one."""
    from gridc.study.serving import install_vllm, vllm_program

    if install:
        install_vllm(terminal.note)
    click.echo(terminal.visible(vllm_program()))
