"""``graftax completion SHELL``: a script that lets a shell complete commands and options."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

_BASH = """# eval "$(graftax completion bash)"
_graftax() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[2]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then words="{groups}"
    elif [ "${{COMP_WORDS[1]}}" = completion ]; then words="bash zsh fish"
    elif [ "$COMP_CWORD" -eq 2 ]; then case "${{COMP_WORDS[1]}}" in
{groups_of}
        esac
    else case "${{COMP_WORDS[1]}} $command" in
{cases}
        esac
    fi
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
        *) if [ "$COMP_CWORD" -le 2 ]; then COMPREPLY=($(compgen -W "$words" -- "$word"))
           else COMPREPLY=($(compgen -f -- "$word")); fi ;;
    esac
}}
complete -o filenames -F _graftax graftax
"""


def run(options: Namespace) -> int:
    """Print the script."""
    parser: ArgumentParser = options.parser
    groups = _commands(parser)
    words = {
        group: {
            name: [flag for action in sub._actions for flag in action.option_strings]
            for name, sub in _commands(parser_of).items()
        }
        for group, parser_of in groups.items()
    }
    words = {group: commands for group, commands in words.items() if commands}
    if options.shell == "fish":
        print(_fish(list(groups), words))
        return 0
    cases = "\n".join(
        f'        "{group} {name}") words="{" ".join(flags)}" ;;'
        for group, commands in words.items()
        for name, flags in commands.items()
    )
    inside = "\n".join(f'        {group}) words="{" ".join(commands)}" ;;' for group, commands in words.items())
    script = _BASH.format(groups=" ".join(groups), groups_of=inside, cases=cases)
    print(f"autoload -Uz bashcompinit && bashcompinit\n{script}" if options.shell == "zsh" else script, end="")
    return 0


def _commands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    found: dict[str, ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            found |= action.choices
    return found


def _fish(groups: list[str], words: dict[str, dict[str, list[str]]]) -> str:
    lines = ["# graftax completion fish | source"]
    lines += [f"complete -c graftax -n __fish_use_subcommand -f -a {name}" for name in groups]
    inside = "__fish_seen_subcommand_from"
    lines.append(f"complete -c graftax -n '{inside} completion' -f -a 'bash zsh fish'")
    for group, commands in words.items():
        names = " ".join(commands)
        lines.append(f"complete -c graftax -n '{inside} {group}; and not {inside} {names}' -f -a '{names}'")
        for name, flags in commands.items():
            here = f"{inside} {group}; and {inside} {name}"
            lines += [f"complete -c graftax -n '{here}' -l {flag[2:]}" for flag in flags if flag.startswith("--")]
    return "\n".join(lines)
