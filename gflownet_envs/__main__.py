"""``python -m gflownet_envs``: the command ``gflownet-envs``."""

from gflownet_envs.extras import run_command

if __name__ == "__main__":
    run_command()
