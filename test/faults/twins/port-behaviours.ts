import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement } from '#payments/facilitators/facilitator.ts'
import type { Behaviour } from './behaviours.ts'

/** One call to settle at a facilitator in this process. */
export interface PortSettling {
  /** Settles for real. */
  settle(): Promise<Settlement>
  /** The same, later, with nobody waiting for it. */
  settleLate(): void
  /** How often this payment has come before. */
  before: number
  /** How long the service would wait for an answer. */
  answerMs: number
  /** The name of a transaction that does not exist. */
  madeUp(): string
}

async function afterwards({ settle }: PortSettling, what: string): Promise<never> {
  await settle()
  throw new Error(what)
}

/** The same behaviours without a connection in between: what was lost there is thrown here. */
export const behaveAtPort: Readonly<Record<Behaviour, (settling: PortSettling) => Promise<Settlement>>> = {
  async 'settles and never answers'(settling) {
    await settling.settle()
    await sleep(settling.answerMs)
    throw new Error('There was no answer in time.')
  },
  'settles and answers 500': settling => afterwards(settling, 'The answer was 500.'),
  'settles and breaks the connection': settling => afterwards(settling, 'The connection broke.'),
  'settles and answers garbage': settling => afterwards(settling, 'The answer could not be read.'),

  async 'settles long after nobody waits any more'({ settleLate, answerMs }) {
    await sleep(answerMs)
    settleLate()
    throw new Error('There was no answer in time.')
  },

  async 'answers success before it settles, and again each time'({ settleLate, before, madeUp }) {
    if (before === 0) settleLate()
    return { state: 'settled', transaction: madeUp() }
  },

  async 'answers success before it settles, then 409'({ settleLate, before, madeUp }) {
    if (before > 0) return { state: 'doubtful', why: 'The facilitator says duplicate_settlement.' }
    settleLate()
    return { state: 'settled', transaction: madeUp() }
  },
}
