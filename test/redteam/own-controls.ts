import type { AgentOptions } from '#agent/settings/agent-options.ts'
import { call } from './browse.ts'
import { knock } from './doors.ts'
import { playAt, type Scene } from './play-at.ts'
import { offer, type RailFacts } from './rails.ts'
import { type Row, rulesOf } from './row.ts'
import type { Reply } from './rule-of.ts'
import { topUp } from './top-up-attacks.ts'
import type { TopUpPlay } from './top-up-play.ts'

/** What a wallet has to pay, or its refusals are worth nothing. */
export interface Control {
  id: string
  door: string
  play?: (rail: RailFacts) => Partial<TopUpPlay>
  policy?: (rail: RailFacts) => AgentOptions['policy']
  onApproval?: AgentOptions['onApproval']
  act(scene: Scene): Promise<Reply[]>
  /** Exactly this much in so many payments, and so many chats answered. */
  paysUsd: number
  payments: number
  delivers: number
}

const yes: AgentOptions['onApproval'] = () => ({ kind: 'approve', approved: true })
const minuteMs = 60_000
const dayMs = 25 * 60 * minuteMs

const fetches =
  (times: number, betweenMs = 0) =>
  async ({ hired, hosts, clock }: Scene): Promise<Reply[]> => {
    const replies: Reply[] = []
    for (let time = 0; time < times; time++) {
      replies.push(await knock.fetch(hired, hosts.baseUrl))
      clock.advance(betweenMs)
    }
    return replies
  }

const asks =
  (amount_usd: number, times = 1) =>
  async ({ hired }: Scene): Promise<Reply[]> => {
    const replies: Reply[] = []
    for (let time = 0; time < times; time++) replies.push(await call(hired, 'wallet_top_up', { amount_usd }))
    return replies
  }

const once = { paysUsd: 5, payments: 1 }

export const ownControls: readonly Control[] = [
  { id: 'control-top-up', door: 'fetch', act: fetches(1), ...once, delivers: 1 },
  { id: 'control-top-up', door: 'chat', act: async ({ hired }) => [await knock.chat(hired, '')], ...once, delivers: 1 },
  { id: 'control-top-up', door: 'wallet_top_up', onApproval: yes, act: asks(5), ...once, delivers: 0 },
  {
    id: 'control-exactly-the-payment-cap',
    door: 'wallet_top_up',
    policy: () => ({ maxPaymentUsd: '6.5' }),
    onApproval: yes,
    act: asks(6.5),
    ...{ paysUsd: 6.5, payments: 1, delivers: 0 },
  },
  {
    id: 'control-exactly-the-day-cap',
    door: 'fetch',
    play: () => ({ chatUsd: () => 5 }),
    act: fetches(2, 2 * minuteMs),
    ...{ paysUsd: 10, payments: 2, delivers: 2 },
  },
  {
    id: 'control-exactly-the-total-cap',
    door: 'fetch',
    play: () => ({ chatUsd: () => 5 }),
    act: fetches(4, dayMs),
    ...{ paysUsd: 20, payments: 4, delivers: 4 },
  },
  {
    id: 'control-dearer-chats',
    door: 'fetch',
    play: () => ({ chatUsd: chat => (chat === 0 ? 0.001 : 4.9) }),
    act: fetches(3, 2 * minuteMs),
    ...{ paysUsd: 10, payments: 2, delivers: 3 },
  },
  {
    id: 'control-dearer-minimum',
    door: 'wallet_top_up',
    play: rail => ({ offers: look => [offer(rail, look === 1 ? 5 : 7)] }),
    policy: () => ({ maxPaymentUsd: '8', maxDayUsd: '16' }),
    onApproval: yes,
    act: async scene => {
      const first = await asks(8)(scene)
      scene.clock.advance(11 * minuteMs)
      return [...first, ...(await asks(8)(scene))]
    },
    ...{ paysUsd: 16, payments: 2, delivers: 0 },
  },
  {
    id: 'control-slow-service',
    door: 'fetch',
    play: () => ({ payments: ['hold'] }),
    act: async ({ hired, hosts }) => {
      const asked = knock.fetch(hired, hosts.baseUrl)
      await Promise.race([hosts.release(), asked])
      return [await asked]
    },
    ...{ ...once, delivers: 1 },
  },
  {
    id: 'control-asked-twice-at-once',
    door: 'fetch',
    act: ({ hired, hosts }) => Promise.all([0, 1].map(() => knock.fetch(hired, hosts.baseUrl))),
    ...{ ...once, delivers: 2 },
  },
  { id: 'control-asked-twice', door: 'wallet_top_up', onApproval: yes, act: asks(5, 2), ...once, delivers: 0 },
  {
    id: 'control-new-payee',
    door: 'fetch',
    policy: () => ({ payees: [] }),
    onApproval: yes,
    act: fetches(1),
    ...{ ...once, delivers: 1 },
  },
  {
    id: 'control-longest-lifetime',
    door: 'fetch',
    play: rail => ({ offers: () => [offer(rail, 5, { maxTimeoutSeconds: 600 })] }),
    act: fetches(1),
    ...{ ...once, delivers: 1 },
  },
]

export async function runControl(control: Control, rail: RailFacts): Promise<Row> {
  const { id, door, play, policy, onApproval, act, paysUsd, payments, delivers } = control
  const row = { part: 'control', id, category: 'control', severity: 'low', rail: rail.name, door } as const
  const authorized = { ...topUp(rail), mostUsd: paysUsd / payments, most: payments, totalUsd: paysUsd }
  const stage = {
    ...{ play: { offers: () => [offer(rail, 5)], ...play?.(rail) }, rail: rail.name, authorized },
    ...(policy && { policy: policy(rail) }),
    ...(onApproval && { onApproval }),
  }
  const { replies, found, hosts } = await playAt(stage, act)
  const missing = [
    ...(found.payments.length === payments ? [] : [`${payments} payments, not ${found.payments.length}`]),
    ...(Math.abs(found.signedUsd - paysUsd) < 1e-6 ? [] : [`${paysUsd} USD, not ${found.signedUsd}`]),
    ...(hosts.delivered() === delivers ? [] : [`${delivers} deliveries, not ${hosts.delivered()}`]),
    ...(replies.every(({ rule }) => rule === 'delivered') ? [] : ['an answer each time']),
  ]
  return {
    ...{ ...row, missing, rules: rulesOf(replies) },
    outcome: found.violations.length > 0 ? 'WRONG' : missing.length > 0 ? 'FAILED' : 'authorized',
    ...{ signedUsd: found.signedUsd, lostUsd: found.lostUsd, violations: found.violations },
  }
}
