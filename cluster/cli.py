"""The `mulex` command: the sub-commands of every layer, each loaded only when it is asked for."""

import importlib
import sys

import click

# name -> (where it lives, its line in --help), so that help needs none of them
COMMANDS = {
    "train": ("mulex.commands.train:train", "Train one draw here, with one or more seeds, without Ray."),
    "sweep": ("sweeps.commands.sweep:sweep", "Launch or continue a sweep from a YAML spec."),
    "resume": ("sweeps.commands.sweep:resume", "Continue a sweep from its own folder."),
    "submit": ("cluster.submit:submit", "Train a spec as a job on a Ray cluster."),
    "status": ("sweeps.commands.status:status", "Show how a sweep stands, or one of its runs."),
    "validate": ("sweeps.commands.validate:validate", "Check a spec and list everything that is wrong with it."),
    "collect": ("sweeps.commands.check:collect", "Make the two tables from the runs that are there."),
    "verify": ("sweeps.commands.check:verify", "Check every run file, and list what is missing."),
    "stats": ("analysis.commands.stats:stats", "Robustness statistics of a sweep, with intervals."),
    "claims": ("analysis.commands.claims:claims", "Hold the paper's claims against sweeps."),
    "plot": ("analysis.commands.plot:plot", "Draw the figures of one or more sweeps."),
    "report": ("analysis.commands.report:report", "One self-contained page about one or more sweeps."),
    "starts": ("mulex.commands.starts:starts", "Measure kept policies from every late start state."),
    "play": ("mulex.commands.play:play", "Watch a policy in a world, play by hand, or draw a map."),
    "token": ("cluster.token_command:token", "Make or show the token that a Ray cluster and its clients share."),
}


class LazyGroup(click.Group):
    """A group that knows its sub-commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mulex", prog_name="mulex")
def mulex() -> None:
    """How robust is an RL method to its hyperparameters? Sweeps on Ray, built around the MuleX paper."""


def main() -> None:
    """Run the command. A user's mistake ends in a message and exit code 2, an interruption in 130: no traceback."""
    try:
        sys.exit(mulex.main(prog_name="mulex", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "exit_code"):  # every layer's own exceptions for a user's mistakes have one
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
