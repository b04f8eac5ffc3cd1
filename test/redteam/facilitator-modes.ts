import { type Door, knock } from './doors.ts'
import { type Played, playAt, type Scene } from './play-at.ts'
import { offer, type RailFacts } from './rails.ts'
import { type Row, rulesOf } from './row.ts'
import type { Reply } from './rule-of.ts'
import { topUp } from './top-up-attacks.ts'
import type { PaymentAnswer } from './top-up-play.ts'

interface Mode {
  name: string
  /** What the first presentation is answered with, and those after it. */
  payments: readonly PaymentAnswer[]
  /** Whether credit has to have come by the last call: a wallet that refuses too much fails as well. */
  completes: boolean
}

/** How a facilitator may misbehave that has settled, as the service passes it on. */
export const facilitatorModes: readonly Mode[] = [
  { name: 'accept_then_timeout', payments: ['drop', 'credit'], completes: true },
  { name: '5xx_after_settle', payments: ['502', 'credit'], completes: true },
  { name: 'double_402', payments: ['402', 'credit'], completes: true },
  { name: 'slow_answer', payments: ['hold'], completes: true },
  { name: 'reconcile_unavailable', payments: ['504'], completes: false },
  { name: 'declared_safe', payments: ['pending', 'credit'], completes: true },
  { name: 'clean', payments: ['credit'], completes: true },
]

/** The same with a connection that stays silent until the wallet gives up, which is two minutes of waiting. */
export const silentMode: Mode = { name: 'accept_then_silence', payments: ['silence', 'credit'], completes: true }

export const facilitatorDoors = ['fetch', 'chat'] as const

export async function runFacilitator(mode: Mode, door: Door, rail: RailFacts): Promise<Row> {
  const { name: id, payments, completes } = mode
  const row = { part: 'facilitator', id, category: 'facilitator', severity: 'critical', rail: rail.name, door } as const
  const stage = { play: { offers: () => [offer(rail, 5)], payments }, rail: rail.name, authorized: topUp(rail) }
  const played = await playAt(stage, scene => callThrice(scene, door, payments[0] === 'hold'))
  const { found } = played
  const missing = completes ? completion(played) : []
  return {
    ...{ ...row, missing, rules: rulesOf(played.replies) },
    outcome: found.violations.length > 0 ? 'WRONG' : missing.length > 0 ? 'FAILED' : 'authorized',
    ...{ signedUsd: found.signedUsd, lostUsd: found.lostUsd, violations: found.violations },
  }
}

const calls = 3
const betweenMs = 2 * 60_000

/** Calls again where the first one was not let in, later than any cooldown. What is held is let go once it is there. */
async function callThrice({ hired, hosts, clock }: Scene, door: Door, isHeld: boolean): Promise<Reply[]> {
  const first = knock[door](hired, hosts.baseUrl)
  if (isHeld) await Promise.race([hosts.release(), first])
  const replies = [await first]
  for (let call = 1; call < calls; call++) {
    clock.advance(betweenMs)
    replies.push(await knock[door](hired, hosts.baseUrl))
  }
  return replies
}

function completion({ found, hosts }: Played): string[] {
  const missing: string[] = []
  if (found.payments.length !== 1) missing.push('one payment')
  if (hosts.settled() !== 1) missing.push('one settlement')
  if (hosts.delivered() === 0) missing.push('a delivery')
  return missing
}
