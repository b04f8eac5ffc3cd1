import { z } from 'zod'
import { toTheUser } from '#agent/words/to-the-user.ts'
import { jsonOf } from '#contract/wire/json.ts'
import type { ListedTool } from '#mcp/listing.ts'
import { type ApprovalRequest, sayOpenRequest } from '#toolkit/approval.ts'
import { approvalsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { runTool } from '#toolkit/run-tool.ts'
import { type FailureFacts, sayFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { CliError, type CommandIo } from '../command.ts'
import type { Output } from '../output.ts'
import type { Progress, Step } from '../show/progress.ts'
import { approveRequest } from '../wallet/approve.ts'

/** A shell call's access to the terminal. */
export interface Shell {
  /** Aborts if the user stops the command. */
  signal: AbortSignal
  /** Prints the result, as data and in words. */
  tell(output: object, text: string): void
  /** Prints a line beside the result. */
  note(line: string): void
  /** Returns our sentence in words for its reader: the user at a terminal, or a program. */
  addressed(sentence: string): string
  /** Takes a failure that opening a wallet may fix. */
  unpaid(words: string): void
  /** Shows the progress of the call, and removes it afterwards. */
  progress(what: string): Promise<Progress>
  /** Records the user's decision; false unless approved. Null without a terminal. */
  decide: ((request: ApprovalRequest) => Promise<boolean>) | null
  /** Prints a request that stays open, in full and with where the user can decide. */
  leaveOpen(request: ApprovalRequest, words: string): void
}

/**
 * `unpaid`: opening a wallet may fix it. `ended`: any other failure, including a decision that the user must make, a
 * denial, or a stop by the user.
 */
export type ShellCallEnd = 'done' | 'unpaid' | 'ended'

/** Makes one call of a tool, as over MCP; its result has been printed when this resolves. Throws our own bugs. */
export async function callFromShell(
  tool: Tool,
  given: Record<string, unknown>,
  host: ToolHost,
  shell: Shell,
): Promise<ShellCallEnd> {
  const { signal } = shell
  for (let round = 1; ; round++) {
    const delivered: (() => void)[] = []
    const whenDelivered = (run: () => void) => void delivered.push(run)
    const progress = await shell.progress(`${tool.name} is running`)
    const report = (step: Step) => signal.aborted || progress.show(step)
    const invocation = { signal, report, whenDelivered, called: { name: tool.name, given } }
    const outcome = await runTool(tool, given, () => host.context(invocation)).finally(() => progress.end())
    switch (outcome.kind) {
      case 'done':
        shell.tell(outcome.output, isOnlyOurs(tool) ? shell.addressed(outcome.text) : outcome.text)
        for (const run of delivered) run()
        return 'done'
      case 'failed': {
        const words = sayFailure(addressedFacts(outcome.facts, shell), Date.now())
        if (outcome.facts.isWithoutWallet) shell.unpaid(words)
        else shell.note(words)
        return outcome.facts.isWithoutWallet ? 'unpaid' : 'ended'
      }
      case 'needs_approval':
        if (await isApproved(tool, outcome.request, round, shell)) break
        return 'ended'
      case 'fault':
        if (!signal.aborted) throw outcome.error
        shell.note(`Stopped.${tool.annotations.readOnlyHint ? '' : mayStillBeCharged}`)
        return 'ended'
    }
  }
}

/** The service's own text is part of the facts, and stays unchanged. */
const addressedFacts = (facts: FailureFacts, { addressed }: Shell): FailureFacts => ({
  ...facts,
  happened: addressed(facts.happened),
  next: addressed(facts.next),
})

/** Tools whose results contain no text of the service or a model. */
const isOnlyOurs = ({ name }: Tool): boolean => name === 'wallet_status' || name === 'estimate'

const mayStillBeCharged =
  ' The call may still be charged. Make the same call again to get its answer without paying again.'

async function isApproved({ name }: Tool, request: ApprovalRequest, round: number, shell: Shell): Promise<boolean> {
  if (shell.decide === null || round > approvalsInARow) {
    shell.leaveOpen(request, sayOpenRequest(request, name, Date.now()))
    return false
  }
  try {
    if (await shell.decide(request)) return true
    shell.note('Nothing was sent or charged.')
  } catch (error) {
    if (!shell.signal.aborted) throw error
    shell.note('Stopped without a decision. Nothing was sent or charged.')
  }
  return false
}

/**
 * Asks the user at the terminal like `farebox wallet approve`, with the wallet's passphrase if there is one. Everything
 * goes to stderr, because stdout is for the result. Rejects with the signal's reason if the user stops the command.
 */
export async function decideAtTerminal(
  { approvalId }: ApprovalRequest,
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
    const answered = approveRequest([approvalId, ...flags], aside, toTheUser)
    return (await Promise.race([answered, stopped.promise])) === 0
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The parts of a JSON Schema that tell how a command-line word is meant. */
interface Meant {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Meant[]
  oneOf?: readonly Meant[]
}

/**
 * Parses a tool's arguments from words such as `duration=5s` and `tags=["a","b"]`, each by its schema. An invalid value
 * stays text, so that the tool itself reports what it accepts. A word without a name, a repeated name and invalid JSON
 * are wrong usage.
 */
export function readToolArguments(command: string, tool: Tool, words: readonly string[]): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(tool.input, { io: 'input' }) as { properties?: Record<string, Meant> }
  const given = new Map<string, unknown>()
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1)
      throw wrongArgument(command, tool, `\`${word}\` is not an argument of ${tool.name}; write arguments as key=value`)
    const key = word.slice(0, at)
    if (given.has(key))
      throw wrongArgument(command, tool, `\`${key}\` appears twice; write several values as JSON, ${key}=["a","b"]`)
    const meant = Object.hasOwn(properties, key) ? properties[key] : undefined
    given.set(
      key,
      readValue(what => wrongArgument(command, tool, what), key, word.slice(at + 1), meant ?? {}),
    )
  }
  return Object.fromEntries(given)
}

/** Exit code 2, and where to read the tool's arguments. */
const wrongArgument = (command: string, { name }: Tool, what: string): CliError =>
  new CliError(`${what}.`, `Run \`${command} --list ${name}\` to see its arguments.`, 2)

function readValue(wrong: (what: string) => CliError, key: string, text: string, meant: Meant): unknown {
  const types = typesOf(meant)
  const isNested = /^\s*[[{]/.test(text) && (types.has('array') || types.has('object'))
  if (types.has('string')) return isNested ? (jsonOf(text) ?? text) : text
  if (types.has('null') && text === 'null') return null
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if ((types.has('number') || types.has('integer')) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (!types.has('array') && !types.has('object')) return text
  const value = isNested ? jsonOf(text) : undefined
  if (value === undefined) {
    const example = types.has('array') ? `${key}=["a","b"]` : `${key}={"name":"value"}`
    throw wrong(`\`${key}\` takes JSON, such as ${example}`)
  }
  return value
}

/** Returns every type that the schema allows for the value. */
function typesOf({ type = [], enum: values = [], const: value, anyOf = [], oneOf = [] }: Meant): Set<string> {
  const types = typeof type === 'string' ? [type] : type
  const ofValues = [...values, ...(value === undefined ? [] : [value])].map(each =>
    each === null ? 'null' : typeof each,
  )
  const inner = [...anyOf, ...oneOf].flatMap(each => [...typesOf(each)])
  return new Set([...types, ...ofValues, ...inner])
}

/** One line per tool; with `isJson`, everything that a program needs. */
export async function showTools(output: Output, tools: readonly ListedTool[], isJson: boolean): Promise<void> {
  const { printTable } = await import('../show/table.ts')
  const rows = tools.map(({ name, description }) => [name, description])
  if (isJson) output.printJson({ tools: tools.map(shown) })
  else printTable({ head: ['Tool', 'Description'], rows, isAligned: true }, output)
}

/** Shows the arguments of a tool, one per line. */
export async function showTool(output: Output, tool: ListedTool, isJson: boolean): Promise<void> {
  if (isJson) {
    output.printJson(shown(tool))
    return
  }
  const { printTable } = await import('../show/table.ts')
  output.print(tool.description)
  printTable({ head: parameterHead, rows: parameterRows(tool.inputSchema), most: { 4: 24 } }, output)
}

const shown = ({ name, description, inputSchema }: ListedTool) => ({ name, description, inputSchema })

/** The parts of a JSON Schema that a table of parameters shows. */
interface Shape {
  type?: string | readonly string[]
  description?: string
  default?: unknown
  enum?: readonly unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  properties?: Readonly<Record<string, Shape>>
  required?: readonly string[]
  items?: Shape
}

/** The column headings of `parameterRows`. */
const parameterHead = ['Name', 'Type', 'Required', 'Default', 'Allowed', 'Description'] as const

/** One row for each parameter; members of an object or a list follow it, such as `history[].role`. */
export function parameterRows(schema: object, before = ''): string[][] {
  const { properties = {}, required = [] } = schema as Shape
  return Object.entries(properties).flatMap(([key, shape]) => {
    const name = `${before}${key}`
    const row = [
      name,
      typeOf(shape),
      required.includes(key) ? 'required' : '',
      shape.default === undefined ? '' : JSON.stringify(shape.default),
      allowed(shape),
      shape.description ?? '',
    ]
    return [row, ...parameterRows(shape, `${name}.`), ...parameterRows(shape.items ?? {}, `${name}[].`)]
  })
}

function typeOf({ type = 'any', items }: Shape): string {
  const types = typeof type === 'string' ? [type] : type
  return types.map(each => (each === 'array' ? `list of ${typeOf(items ?? {})}` : each)).join(' or ')
}

const allowed = ({ items, ...shape }: Shape): string =>
  [
    shape.enum?.map(value => (typeof value === 'string' ? value : JSON.stringify(value))).join(', '),
    range(shape.minimum, shape.maximum, ''),
    range(shape.minLength, shape.maxLength, ' characters'),
    range(shape.minItems, shape.maxItems, ' items'),
    items?.enum?.join(', '),
  ]
    .filter(Boolean)
    .join('; ')

/** JSON Schema writes an integer without a bound as one within the safe integers. */
function range(least: number | undefined, most: number | undefined, unit: string): string {
  const [from, to] = [least, most].map(bound =>
    Number.isSafeInteger(bound) && Math.abs(bound ?? 0) === Number.MAX_SAFE_INTEGER ? undefined : bound,
  )
  if (from === undefined) return to === undefined ? '' : `up to ${to}${unit}`
  return to === undefined ? `${from}${unit} or more` : `${from} to ${to}${unit}`
}
