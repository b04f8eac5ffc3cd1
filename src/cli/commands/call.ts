import { type AgentSettings, readSettings } from '#agent/settings/settings.ts'
import { catalogue } from '#agent/tools/catalogue.ts'
import { isWalletLocked } from '#agent/wallet/wallet-keys.ts'
import { toTheUser } from '#agent/words/to-the-user.ts'
import { asTyped } from '#agent/words/typed-commands.ts'
import { systemClock } from '#contract/time.ts'
import { listing } from '#mcp/listing.generated.ts'
import { waitingFor } from '#toolkit/approval.ts'
import type { Tool } from '#toolkit/define.ts'
import { sayRefusedArguments } from '#toolkit/run-tool.ts'
import {
  callFromShell,
  decideAtTerminal,
  readToolArguments,
  type Shell,
  type ShellCallEnd,
  showTool,
  showTools,
} from '../call/shell-call.ts'
import {
  CliError,
  type Command,
  type CommandIo,
  didYouMean,
  parseArguments,
  wordCharacters,
  wrongUsage,
} from '../command.ts'
import { openProgress } from '../show/progress.ts'
import { agentHost } from '../wallet/agent-host.ts'
import { dataFlag, withDataFlag } from '../wallet/owner-wallet.ts'
import { askHidden, givenPassphrase, passphraseFlags } from '../wallet/terminal.ts'

const name = 'farebox call'

/** Arguments of one call; the largest tool takes far fewer. */
const mostWords = 64

const usage = `Usage: farebox call TOOL key=value … [--json] [--passphrase-file FILE | --passphrase-fd N] [--data DIR]
       farebox call --list [TOOL] [--json]

Calls a tool as an assistant does, with the code, settings, wallet and caps of \`farebox mcp\`. Values are text, numbers,
true or false, and JSON for lists, such as tags=["a","b"]. It asks for your approval in the terminal; if there is no
terminal, the call stops and tells you to run \`farebox wallet approve\`. The result goes to stdout, progress and
approvals to stderr. Ctrl-C cancels. Exits with 0 for success, 1 for failure, 2 for wrong usage.

  --list                  list the tools, or the arguments of one tool
  --json                  print the result as one line of JSON
  --passphrase-file FILE  file with the wallet's passphrase, readable by you only. Not needed with the system keychain
                          or the systemd credential farebox-passphrase. In a terminal you are asked for it
  --passphrase-fd N       read the passphrase from this open file descriptor, for example 0 for stdin
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox)`

export const call: Command = {
  usage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: name,
      options: {
        list: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        ...passphraseFlags,
        ...dataFlag,
      },
      maxPositionals: mostWords,
    })
    const [toolName, ...words] = positionals
    if (values.list) return list(toolName, words, values.json, io)
    if (toolName === undefined) throw wrongUsage(name, `Name a tool: ${toolNames()}`)
    const tool = await toolCalled(toolName)
    const given = checked(tool, readToolArguments(name, tool, words))
    const { settings, problems } = readSettings(withDataFlag(io.env, values.data))
    if (problems.length > 0) throw new CliError(problems.join(' '), 'Fix it in the environment, then try again.', 2)
    const passphrase = await givenPassphrase(name, values, io.env)
    const end = await callTwice({ tool, given, isJson: values.json, data: values.data }, settings, passphrase, io)
    return end === 'done' ? 0 : 1
  },
}

const toolNames = (): string => Object.keys(catalogue.tools).join(', ')

async function toolCalled(toolName: string): Promise<Tool> {
  const load = Object.hasOwn(catalogue.tools, toolName) ? catalogue.tools[toolName] : undefined
  if (!load) throw noSuchTool(toolName)
  return load()
}

const noSuchTool = (toolName: string) =>
  wrongUsage(
    name,
    `There is no tool \`${toolName.slice(0, wordCharacters)}\`. ${didYouMean(toolName, Object.keys(catalogue.tools))}The tools are ${toolNames()}`,
  )

/** Returns the given arguments if the tool accepts them. */
function checked(tool: Tool, given: Record<string, unknown>): Record<string, unknown> {
  const parsed = tool.input.safeParse(given)
  if (parsed.success) return given
  const wrong = sayRefusedArguments(tool.input, given, parsed.error.issues).replace(/\.$/, '')
  throw new CliError(
    `Invalid arguments for ${tool.name}: ${wrong}.`,
    `Run \`${name} --list ${tool.name}\` to see its arguments.`,
    2,
  )
}

async function list(
  toolName: string | undefined,
  words: readonly string[],
  isJson: boolean,
  { output }: CommandIo,
): Promise<number> {
  if (words.length > 0) throw wrongUsage(name, '`--list` takes one tool at most')
  const tool = listing.tools.find(each => each.name === toolName)
  if (tool) await showTool(output, tool, isJson)
  else if (toolName === undefined) await showTools(output, listing.tools, isJson)
  else throw noSuchTool(toolName)
  return 0
}

/** One call, as the user typed it. */
interface Written {
  tool: Tool
  given: Record<string, unknown>
  isJson: boolean
  /** The wallet's folder, if a flag named it. */
  data: string | undefined
}

/** Free calls need no wallet, so the passphrase is requested only after a call has failed without it. */
async function callTwice(
  written: Written,
  settings: AgentSettings,
  passphrase: string | null,
  io: CommandIo,
): Promise<ShellCallEnd> {
  const { end, unpaid } = await callOnce(written, settings, passphrase, io)
  if (unpaid === null) return end
  const isLocked = passphrase === null && !io.untilStopped().aborted && (await isWalletLocked(settings))
  if (isLocked && io.stdin.isTTY) {
    const again = await callOnce(written, settings, await askHidden(io, askPassphrase), io)
    if (again.unpaid !== null) io.output.note(again.unpaid)
    return again.end
  }
  io.output.note(unpaid)
  if (isLocked) {
    const opening = asTyped(`\`${name} ${written.tool.name} … --passphrase-file FILE\``)
    io.output.note(`${opening} unlocks the wallet of this folder.`)
  }
  return end
}

const askPassphrase = 'Wallet passphrase (not shown):'

/** Returns a failure for lack of a wallet without printing it, because the passphrase may fix it. */
async function callOnce(written: Written, settings: AgentSettings, passphrase: string | null, io: CommandIo) {
  let unpaid: string | null = null
  const { tool, given } = written
  const signal = io.untilStopped()
  const host = await agentHost(settings, { file: null, read: async () => passphrase })()
  try {
    const shell = shellOf(written, io, signal)
    const end = await callFromShell(tool, given, host, {
      ...shell,
      unpaid: words => {
        unpaid = words
      },
    })
    return { end, unpaid }
  } finally {
    await host.close()
  }
}

/** Prints the result to stdout, everything else to stderr. */
function shellOf({ isJson, data, tool }: Written, io: CommandIo, signal: AbortSignal): Omit<Shell, 'unpaid'> {
  const { output } = io
  const tell = (value: object, text: string) => (isJson ? output.printJson(value) : output.print(text))
  return {
    signal,
    tell,
    note: output.note,
    addressed: sentence => (io.stdin.isTTY ? toTheUser(sentence) : sentence),
    progress: what => openProgress(output, what),
    leaveOpen(request, words) {
      if (isJson) output.note(words)
      tell(waitingFor(request, tool.name, systemClock.now()), words)
    },
    decide: io.stdin.isTTY
      ? async request => {
          const isYes = await decideAtTerminal(request, data, io, signal)
          if (!isYes && isJson) output.printJson({ status: 'declined', approval_id: request.approvalId })
          return isYes
        }
      : null,
  }
}
