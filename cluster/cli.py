"""The `mulex` command: the sub-commands of every layer, each loaded only when it is asked for."""

import importlib
import sys

import click
from click.shell_completion import CompletionItem

# name -> (its module and function, its line in --help): help is printed without importing any of them
COMMANDS = {
    "train": ("sweeps.commands.train:train", "Train one draw here, with one or more seeds, without Ray."),
    "sweep": ("sweeps.commands.sweep:sweep", "Launch or continue a sweep from a YAML spec."),
    "resume": ("sweeps.commands.sweep:resume", "Continue a sweep from its own folder."),
    "confirm": ("sweeps.commands.confirm:confirm", "Train the best draws again with seeds that no tuning saw."),
    "submit": ("cluster.commands.submit:submit", "Train a spec as a job on a Ray cluster."),
    "status": ("sweeps.commands.status:status", "Show how a sweep stands, or one of its runs."),
    "validate": ("sweeps.commands.validate:validate", "Check a spec and list everything that is wrong with it."),
    "check": ("sweeps.commands.check:check", "Try the contract of a learner on short runs."),
    "collect": ("sweeps.commands.tables:collect", "Make the two tables from the runs that are there."),
    "verify": ("sweeps.commands.verify:verify", "Check every run file, and list what is missing."),
    "unpack": ("sweeps.commands.tables:unpack", "Make run files again from the two tables of an archived sweep."),
    "export": ("sweeps.commands.export:export", "Send a sweep's runs to a tracker or another program's files."),
    "stats": ("analysis.commands.stats:stats", "Robustness statistics of a sweep, with intervals."),
    "claims": ("analysis.commands.claims:claims", "Test the paper's claims on sweeps."),
    "best": ("analysis.commands.best:best", "The best draws of each method, and the commands that train them."),
    "checklist": ("analysis.commands.checklist:checklist", "What a paper should say about its hyperparameters."),
    "plan": ("analysis.commands.plan:plan", "How many draws and seeds a claim needs, and what they cost."),
    "plot": ("analysis.commands.plot:plot", "Draw the figures of one or more sweeps."),
    "report": ("analysis.commands.report:report", "One self-contained page about one or more sweeps."),
    "serve": ("analysis.commands.serve:serve", "Show sweeps in a browser while they run and afterwards."),
    "starts": ("mulex.commands.starts:starts", "Measure kept policies from every late start state."),
    "play": ("mulex.commands.play:play", "Watch a policy in a world, play by hand, or draw a map."),
    "token": ("cluster.commands.token:token", "Make or show the token that a Ray cluster and its clients share."),
}

LONGEST_LINE = 2000  # characters of an error


class LazyGroup(click.Group):
    """A group that imports a sub-command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them; their own options are completed by click."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        own = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names] + own

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
        from mulex.messages import printable

        lines = [printable(line, LONGEST_LINE) for line in str(error).splitlines()]  # nothing that moves the cursor
        click.echo("\n".join([f"Error: {lines[0] if lines else ''}", *lines[1:]]), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
