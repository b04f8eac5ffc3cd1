import { microUsd } from '#contract/money.ts'
import type { Line, Op } from '#ledger/store/units.ts'
import type { Seeded } from '../seeded.ts'

/** One unit of a story: its id is the story's id and this name. */
export interface Step {
  name: string
  ops: Op[]
}

/** The units that a service commits for one action of a caller, in order. */
export type Story = (id: string, account: string, seeded: Seeded) => Step[]

const leaseMs = 3_600_000

const usd = (amount: number) => microUsd(BigInt(amount))

const lease = () => ({ owner: 'one', untilMs: Date.now() + leaseMs })

const linesOf = (seeded: Seeded, most: number): Line[] =>
  ['input', 'output'].map(sku => {
    const units = 1 + seeded.below(most / 2)
    return { sku, units: BigInt(units), unitPricePicoUsd: 1_000_000n, amount: usd(units) }
  })

const hold = (id: string, account: string, amount: number): Op => {
  return { op: 'hold', hold: id, account, amount: usd(amount), lease: lease(), atMs: Date.now() }
}

const capture = (id: string, model: string, lines: Line[]): Op => {
  return { op: 'capture', hold: id, request: id, model, lines, atMs: Date.now() }
}

const chat: Story = (id, account, seeded) => [
  { name: 'hold', ops: [hold(id, account, 50)] },
  { name: 'extend', ops: [{ op: 'extend', hold: id, amount: usd(50) }] },
  { name: 'renew', ops: [{ op: 'renew', hold: id, lease: lease() }] },
  { name: 'capture', ops: [capture(id, 'demo-chat', linesOf(seeded, 100))] },
]

const failedChat: Story = (id, account) => [
  { name: 'hold', ops: [hold(id, account, 70)] },
  { name: 'release', ops: [{ op: 'release', hold: id }] },
]

const job = (id: string, from: 'queued' | 'running', to: 'running' | 'completed' | 'failed', fence: number): Op => {
  return { op: 'job', job: id, from, to, fence, set: { input: null, lease: null }, atMs: Date.now() }
}

/** Its input is large: a commit of many pages, the last of which carries the mark. */
const accepted = (id: string, account: string, seeded: Seeded): Step => {
  const input = JSON.stringify({ prompt: 'x'.repeat(seeded.below(40_000)) })
  const set = { account, model: 'demo-video', request: id, input }
  const insert: Op = { op: 'job', job: id, from: null, to: 'queued', fence: 0, set, atMs: Date.now() }
  return {
    name: 'accept',
    ops: [hold(id, account, 400), capture(id, 'demo-video', linesOf(seeded, 400)), insert],
  }
}

const video: Story = (id, account, seeded) => [
  accepted(id, account, seeded),
  { name: 'run', ops: [job(id, 'queued', 'running', 1)] },
  { name: 'complete', ops: [job(id, 'running', 'completed', 2)] },
]

const failedVideo: Story = (id, account, seeded) => [
  accepted(id, account, seeded),
  { name: 'run', ops: [job(id, 'queued', 'running', 1)] },
  {
    name: 'fail',
    ops: [job(id, 'running', 'failed', 2), { op: 'refund', request: id, reason: 'It failed.', atMs: Date.now() }],
  },
]

const topUp: Story = (id, account, seeded) => {
  const amount = usd(5_000_000 + seeded.below(1_000))
  const atMs = Date.now()
  const insert = { network: 'eip155:8453', payer: `0x${id}`, amount, payload: '{}', validBeforeSeconds: 2_000_000_000 }
  return [
    {
      name: 'claim',
      ops: [{ op: 'payment', payment: id, from: null, to: 'settling', fence: 0, set: insert, atMs }],
    },
    {
      name: 'credit',
      ops: [
        { op: 'payment', payment: id, from: 'settling', to: 'credited', fence: 1, set: { answer: '{}' }, atMs },
        { op: 'credit', account, amount, source: 'system:usdc', ref: `topup:${id}`, atMs },
      ],
    },
  ]
}

const signIn: Story = id => [{ name: 'nonce', ops: [{ op: 'nonce', key: id, expiresAtMs: Date.now() + leaseMs }] }]

const all: readonly Story[] = [chat, chat, failedChat, video, failedVideo, topUp, signIn]

export const drawStory = (seeded: Seeded): Story => seeded.pick(all) ?? chat
