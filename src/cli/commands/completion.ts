import { type Command, type CommandEntry, parseArguments, wordCharacters, wrongUsage } from '../command.ts'

const name = 'farebox completion'

const usage = `Usage: farebox completion SHELL

Prints a script that completes commands, subcommands and flags in a shell. SHELL is bash, zsh or fish.

  bash   farebox completion bash > ~/.local/share/bash-completion/completions/farebox
  zsh    farebox completion zsh > "\${fpath[1]}/_farebox"
  fish   farebox completion fish > ~/.config/fish/completions/farebox.fish`

export const completion: Command = {
  usage,
  async run(args, io) {
    const { positionals } = parseArguments(args, { command: name, options: {}, maxPositionals: 1 })
    const [shell = ''] = positionals
    const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined
    if (!write)
      throw wrongUsage(
        name,
        shell === ''
          ? 'Name the shell: bash, zsh or fish'
          : `SHELL is \`${shell.slice(0, wordCharacters)}\`; use bash, zsh or fish`,
      )
    const { commands } = await import('../commands.ts')
    io.output.print(write(await Promise.all(commands.map(wordsOf))))
    return 0
  },
}

/** The words and flags that can follow a command. */
interface CommandWords {
  name: string
  summary: string
  /** Its subcommands, such as `create` of `wallet`. */
  words: readonly string[]
  /** Including their dashes. */
  flags: readonly string[]
}

/** Parsed from the usage that `--help` prints, so that there is no second list. */
async function wordsOf({ name: command, summary, load }: CommandEntry): Promise<CommandWords> {
  const { usage: text } = await load()
  const { synopsesOf } = await import('../show/help.ts')
  const words = synopsesOf(command, text).flatMap(synopsis => synopsis.words)
  const clients = command === 'install' ? (await import('../assistants/clients.ts')).assistantClients : []
  const flags = text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []
  return {
    name: command,
    summary,
    words: unique([...words, ...clients.map(client => client.name)]),
    flags: unique([...flags, '--help']),
  }
}

const unique = (words: readonly string[]): string[] => [...new Set(words)]

const all = (table: readonly CommandWords[]): string => [...table.map(command => command.name), 'help'].join(' ')

const after = ({ words, flags }: CommandWords): string => [...words, ...flags].join(' ')

const shells: Readonly<Record<string, (table: readonly CommandWords[]) => string>> = {
  bash: table => `_farebox() {
  local current=\${COMP_WORDS[COMP_CWORD]} known
  if [ "$COMP_CWORD" -eq 1 ]; then known='${all(table)}'
  else case \${COMP_WORDS[1]} in
${table.map(command => `    ${command.name}) known='${after(command)}' ;;`).join('\n')}
    help) known='${all(table)}' ;;
  esac; fi
  COMPREPLY=($(compgen -W "$known" -- "$current"))
}
complete -o default -F _farebox farebox`,
  zsh: table => `#compdef farebox
_farebox() {
  local -a known
  if (( CURRENT == 2 )); then known=(${all(table)})
  else case $words[2] in
${table.map(command => `    ${command.name}) known=(${after(command)}) ;;`).join('\n')}
    help) known=(${all(table)}) ;;
  esac; fi
  compadd -- $known
  _files
}
compdef _farebox farebox`,
  fish: table =>
    [
      "complete -c farebox -n __fish_use_subcommand -f -a help -d 'Show the help of a command'",
      `complete -c farebox -n '__fish_seen_subcommand_from help' -f -a '${all(table)}'`,
      ...table.map(
        command =>
          `complete -c farebox -n __fish_use_subcommand -f -a ${command.name} -d '${command.summary.replaceAll("'", "\\'")}'`,
      ),
      ...table.flatMap(({ name: command, words, flags }) => {
        const behind = `complete -c farebox -n '__fish_seen_subcommand_from ${command}'`
        const own = words.length === 0 ? [] : [`${behind} -a '${words.join(' ')}'`]
        return [...own, ...flags.map(flag => `${behind} -l ${flag.slice(2)}`)]
      }),
    ].join('\n'),
}
