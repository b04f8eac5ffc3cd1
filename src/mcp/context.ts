import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { canonicalJson } from '#contract/wire/json.ts'
import type { ApprovalRequest } from '#toolkit/approval.ts'
import type { Catalogue, FormValues } from '#toolkit/define.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { choicesKeptMs, choicesMs, stateSeconds } from './bounds.ts'
import type { SentForms } from './client/client-media.ts'
import type { CallProgress } from './client/progress.ts'

/** What all calls of one server share. */
export interface McpContext {
  catalogue: Catalogue
  /** Creates the host at the first call that needs it, then returns the same one. */
  host(): Promise<ToolHost>
  states: RequestStateCodec<AskedState>
  choices: KnownChoices
  forms: SentForms
  progress: CallProgress
  calls: CallsInFlight
  deliveries: Pick<Deliveries, 'expect' | 'forget'>
  clock: Clock
  log: LogLine
}

/** Writes a line for the operator; never to stdout. */
export type LogLine = (line: string) => void

/** Recently found completion values. They are cached briefly, because a client asks at every keystroke. */
export class KnownChoices {
  readonly #clock: Clock
  readonly #kept = new Map<string, { values: Promise<readonly string[]>; untilMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns what `look` finds, or nothing if it fails or takes too long; either is cached briefly. */
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

/** The state that the client keeps until the user has answered: which call asked, and for which approval. */
export interface AskedState {
  tool: string
  argumentsHash: string
  /** The approval that the user decides on; null if they fill in a form. */
  decides: Pick<ApprovalRequest, 'approvalId' | 'kind'> | null
  /** The first request of a call is 1. */
  round: number
  /** Unix time in milliseconds. */
  askedAtMs: number
  /** What the user has filled in so far. */
  filled?: FormValues
  /** Whether a wallet was offered to the user. */
  offers?: true
}

/**
 * Signs states. A random key is enough if one process serves all rounds of a call, as on stdio. It is made for the first
 * state, because most sessions have none, and making it loads all of `node:crypto`.
 */
export function stateCodec(key?: Uint8Array): RequestStateCodec<AskedState> {
  if (key) return signedBy(key)
  let made: RequestStateCodec<AskedState> | undefined
  const codec = () => {
    made ??= signedBy(randomBytes(32))
    return made
  }
  return {
    mint: async (state, context) => codec().mint(state, context),
    verify: async (state, context) => codec().verify(state, context),
  }
}

const signedBy = (key: Uint8Array) =>
  createRequestStateCodec<AskedState>({ key, ttlSeconds: stateSeconds, bind: context => context.mcpReq.method })

/** Whether an answer belongs to this call. */
export const belongsTo = (state: AskedState, tool: string, given: unknown): boolean =>
  state.tool === tool && state.argumentsHash === argumentsHash(given)

/** Equal for equal arguments, in any order. */
export const argumentsHash = (given: unknown): string =>
  createHash('sha256').update(canonicalJson(given)).digest('base64url')

/** Tracks calls that have not ended, so that their resources are closed after them. */
export interface CallsInFlight {
  track<Result>(call: Promise<Result>): Promise<Result>
  /** Resolves when all calls have ended, or after `timeoutMs`. */
  settled(timeoutMs: number): Promise<void>
}

export function callsInFlight(): CallsInFlight {
  const calls = new Set<Promise<unknown>>()
  return {
    track(call) {
      calls.add(call)
      const forget = () => void calls.delete(call)
      call.then(forget, forget)
      return call
    },
    async settled(timeoutMs) {
      await Promise.race([Promise.allSettled(calls), sleep(timeoutMs, undefined, { ref: false })])
    },
  }
}

type RequestId = string | number

/** Callbacks that run once a result has been written; until then it counts as not delivered. */
export class Deliveries {
  readonly #waiting = new Map<RequestId, readonly (() => void)[]>()

  expect(id: RequestId, runs: readonly (() => void)[]): void {
    if (runs.length > 0) this.#waiting.set(id, runs)
  }

  /** The client no longer wants the result; nothing will be written. */
  forget(id: RequestId): void {
    this.#waiting.delete(id)
  }

  /** Called when a message has left. If it is a result, that result has been delivered. */
  written(message: object): void {
    const { id, result } = message as { id?: RequestId; result?: unknown }
    if (id === undefined || result === undefined) return
    const runs = this.#waiting.get(id) ?? []
    this.#waiting.delete(id)
    for (const run of runs) run()
  }
}
