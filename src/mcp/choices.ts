import { setTimeout as sleep } from 'node:timers/promises'
import { type CompleteRequest, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import type { Choices } from '#toolkit/define.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { choicesKeptMs, choicesMs, choicesShown } from './bounds.ts'
import type { Desk } from './call-tool.ts'
import type { Listing } from './listing.ts'

type Params = CompleteRequest['params']

/** Values that were looked up for somebody who types, kept for a moment: a client asks at every key. */
export class KnownChoices {
  readonly #clock: Clock
  readonly #kept = new Map<string, { values: Promise<readonly string[]>; untilMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What `look` finds, nothing where it fails or takes too long; either stands for a moment. */
  get(key: string, look: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const nowMs = this.#clock.now()
    const kept = this.#kept.get(key)
    if (kept && nowMs < kept.untilMs) return kept.values
    const late = sleep(choicesMs, [] as const, { ref: false })
    const values = Promise.race([look().catch(() => []), late])
    this.#kept.set(key, { values, untilMs: nowMs + choicesKeptMs })
    return values
  }
}

/** Values that begin as what was typed, then those that have it inside. A reference that is not listed is a protocol error. */
export async function completeArgument(desk: Desk, listing: Listing, { ref, argument }: Params) {
  const [key, choices] =
    ref.type === 'ref/prompt'
      ? await ofPrompt(desk, listing, ref.name, argument.name)
      : await ofTemplate(desk, listing, ref.uri)
  const values =
    typeof choices === 'function' ? await desk.choices.get(key, () => look(desk, choices)) : (choices ?? [])
  const typed = argument.value.toLowerCase()
  const fitting = values.filter(value => value.toLowerCase().includes(typed))
  const first = fitting.filter(value => value.toLowerCase().startsWith(typed))
  const ordered = [...first, ...fitting.filter(value => !first.includes(value))]
  return {
    completion: {
      values: ordered.slice(0, choicesShown),
      total: ordered.length,
      hasMore: ordered.length > choicesShown,
    },
  }
}

type Found = readonly [key: string, choices: Choices | undefined]

async function ofPrompt({ catalogue }: Desk, { prompts }: Listing, name: string, argument: string): Promise<Found> {
  const listed = prompts.find(prompt => prompt.name === name)
  if (!listed?.arguments.some(one => one.name === argument)) throw unknown('argument of a prompt')
  const choices: Readonly<Record<string, Choices | undefined>> = (await catalogue.prompts[name]?.())?.choices ?? {}
  return [`prompt ${name} ${argument}`, choices[argument]]
}

async function ofTemplate({ catalogue }: Desk, { resourceTemplates }: Listing, uri: string): Promise<Found> {
  const listed = resourceTemplates.find(({ uriTemplate }) => uriTemplate === uri)
  if (!listed) throw unknown('template')
  return [`resource ${listed.name}`, (await catalogue.resources[listed.name]?.())?.choices]
}

const unknown = (what: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no such ${what}; the lists of prompts and templates name them`,
  )

/** A call of its own, which nobody cancels: its values serve the next key too. */
async function look(desk: Desk, choices: (context: ToolContext) => Promise<readonly string[]>) {
  const host = await desk.host()
  return choices(host.context({ signal: AbortSignal.timeout(choicesMs), report: () => {} }))
}
