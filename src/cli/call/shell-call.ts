import { z } from 'zod'
import type { ListedTool } from '#mcp/listing.ts'
import { type Question, sayOpenQuestion } from '#toolkit/approval.ts'
import { progressCharacters, progressEveryMs, questionsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool } from '#toolkit/run-tool.ts'
import { sayFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import { type CommandIo, wrongUsage } from '../command.ts'
import type { Output } from '../output.ts'
import { approveQuestion } from '../wallet/approve.ts'

/** What a call from the shell meets of the terminal. */
export interface Shell {
  /** Aborts where the user stops the command. */
  signal: AbortSignal
  /** The result, as data and in words. */
  tell(output: object, text: string): void
  /** A line beside the result. */
  note(line: string): void
  /** Records the user's answer to the question; false where it is not a yes. Null where nobody sits at a terminal. */
  decide: ((question: Question) => Promise<boolean>) | null
  /** A question that stays open, and the words that show it whole and say where it is answered. */
  leaveOpen(question: Question, words: string): void
}

/**
 * `unpaid` may be fixed by a wallet that is opened; `ended` is any other failure, and where the user is needed, said
 * no, or stopped it.
 */
export type ShellCallEnd = 'done' | 'unpaid' | 'ended'

/** One call of a tool, as over MCP; whatever becomes of it has been told when this resolves. Throws what is a fault of ours. */
export async function callFromShell(
  tool: Tool,
  given: Record<string, unknown>,
  host: ToolHost,
  shell: Shell,
): Promise<ShellCallEnd> {
  const { signal } = shell
  const report = progressTo(shell)
  for (let round = 1; ; round++) {
    const delivered: (() => void)[] = []
    const whenDelivered = (run: () => void) => void delivered.push(run)
    const invocation = { signal, report, whenDelivered, called: { name: tool.name, given } }
    const outcome = await runTool(tool, given, () => host.context(invocation))
    switch (outcome.kind) {
      case 'done':
        shell.tell(outcome.output, outcome.text)
        for (const run of delivered) run()
        return 'done'
      case 'failed':
        shell.note(sayFailure(outcome.facts, Date.now()))
        return outcome.facts.isWithoutWallet ? 'unpaid' : 'ended'
      case 'asks':
        if (await isApproved(tool, outcome.question, round, shell)) break
        return 'ended'
      case 'fault':
        if (!signal.aborted) throw outcome.error
        shell.note(`Stopped.${tool.annotations.readOnlyHint ? '' : mayStillBeCharged}`)
        return 'ended'
    }
  }
}

const mayStillBeCharged =
  ' The call may still be charged. Make the same call again to get its answer without paying again.'

async function isApproved({ name }: Tool, question: Question, round: number, shell: Shell): Promise<boolean> {
  if (shell.decide === null || round > questionsInARow) {
    shell.leaveOpen(question, sayOpenQuestion(question, name, Date.now()))
    return false
  }
  try {
    if (await shell.decide(question)) return true
    shell.note('Nothing was sent or charged.')
  } catch (error) {
    if (!shell.signal.aborted) throw error
    shell.note('Stopped without a decision. Nothing was sent or charged.')
  }
  return false
}

/** A line for each thing that is new, and not too many of them. */
function progressTo({ signal, note }: Shell) {
  let last = ''
  let nextAtMs = 0
  return ({ message }: { message: string }): void => {
    const nowMs = performance.now()
    const line = oneLine(message, progressCharacters)
    if (signal.aborted || line === last || nowMs < nextAtMs) return
    last = line
    nextAtMs = nowMs + progressEveryMs
    note(line)
  }
}

/**
 * Asks the user at the terminal as `farebox wallet approve` does, with the wallet's passphrase where there is one. All of
 * it goes to stderr, because stdout is for the result. Rejects with the signal's reason where the user stops the command.
 */
export async function decideAtTerminal(
  { approvalId }: Question,
  data: string | undefined,
  io: CommandIo,
  signal: AbortSignal,
): Promise<boolean> {
  const { output } = io
  const aside: CommandIo = { ...io, output: { ...output, print: output.note, note: output.note } }
  const flags = data === undefined ? [] : ['--data', data]
  const stopped = Promise.withResolvers<never>()
  const stop = () => {
    // Waiting for a line would keep the process alive.
    io.stdin.pause()
    stopped.reject(signal.reason)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    const answered = approveQuestion([approvalId, ...flags], aside)
    return (await Promise.race([answered, stopped.promise])) === 0
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** What of a JSON Schema tells how a word of the command line is meant. */
interface Meant {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Meant[]
  oneOf?: readonly Meant[]
}

/**
 * The arguments of a tool from words such as `duration=5s` and `tags=["a","b"]`, each read as its schema means it. What is
 * not as it should be stays a text, so that the tool itself says what it takes. A word without a name, a name that comes
 * twice and JSON that cannot be read are wrong usage.
 */
export function readToolArguments(command: string, tool: Tool, words: readonly string[]): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(tool.input, { io: 'input' }) as { properties?: Record<string, Meant> }
  const given = new Map<string, unknown>()
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1)
      throw wrongUsage(command, `\`${word}\` is not an argument of ${tool.name}; write arguments as key=value`)
    const key = word.slice(0, at)
    if (given.has(key))
      throw wrongUsage(command, `\`${key}\` appears twice; write several values as JSON, ${key}=["a","b"]`)
    const meant = Object.hasOwn(properties, key) ? properties[key] : undefined
    given.set(key, readValue(command, key, word.slice(at + 1), meant ?? {}))
  }
  return Object.fromEntries(given)
}

function readValue(command: string, key: string, text: string, meant: Meant): unknown {
  const types = typesOf(meant)
  const isNested = /^\s*[[{]/.test(text) && (types.has('array') || types.has('object'))
  if (types.has('string')) return isNested ? (parsed(text) ?? text) : text
  if (types.has('null') && text === 'null') return null
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if ((types.has('number') || types.has('integer')) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (!types.has('array') && !types.has('object')) return text
  const value = isNested ? parsed(text) : undefined
  if (value === undefined) {
    const example = types.has('array') ? `${key}=["a","b"]` : `${key}={"name":"value"}`
    throw wrongUsage(command, `\`${key}\` takes JSON, such as ${example}`)
  }
  return value
}

/** Every type that the value may have, wherever the schema says it. */
function typesOf({ type = [], enum: values = [], const: value, anyOf = [], oneOf = [] }: Meant): Set<string> {
  const told = typeof type === 'string' ? [type] : type
  const ofValues = [...values, ...(value === undefined ? [] : [value])].map(each =>
    each === null ? 'null' : typeof each,
  )
  const inner = [...anyOf, ...oneOf].flatMap(each => [...typesOf(each)])
  return new Set([...told, ...ofValues, ...inner])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A line a tool; with `isJson` all of what a program has to know. */
export function showTools({ print, printJson }: Output, tools: readonly ListedTool[], isJson: boolean): void {
  if (isJson) {
    printJson({ tools: tools.map(shown) })
    return
  }
  const width = Math.max(...tools.map(({ name }) => name.length))
  for (const { name, description } of tools) print(`${name.padEnd(width)}  ${description}`)
}

/** What a tool takes, an argument a line. */
export function showTool({ print, printJson }: Output, tool: ListedTool, isJson: boolean): void {
  if (isJson) {
    printJson(shown(tool))
    return
  }
  const { properties = {}, required = [] } = tool.inputSchema as { properties?: object; required?: readonly string[] }
  print(tool.description)
  for (const [key, schema] of Object.entries(properties)) {
    const { description, ...values } = schema as { description?: string }
    const isNeeded = required.includes(key) ? ' (required)' : ''
    print(`  ${key}${isNeeded}: ${[description, JSON.stringify(values)].filter(Boolean).join(' ')}`)
  }
}

const shown = ({ name, description, inputSchema }: ListedTool) => ({ name, description, inputSchema })
