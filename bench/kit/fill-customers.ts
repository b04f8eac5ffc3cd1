import { createHash } from 'node:crypto'
import { microUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { commitAll } from './fill-ledger.ts'

/** The rows of each customer besides entries: half of its top-ups have ended, and its jobs are in every state. */
export const ofEachCustomer = { payments: 10, jobs: 10, limitHits: 20 } as const

const transactionOf = (name: string): string => `0x${createHash('sha256').update(name).digest('hex')}`

/** Such as `customer 17 of the bench`, which a search for `17` finds among others. */
export const nameOf = (place: number): string => `Customer ${place} of the bench`
export const emailOf = (place: number): string => `office-${place}@bench.example`
export const payerOf = (place: number): string =>
  `0x${createHash('sha256').update(nameOf(place)).digest('hex').slice(24)}`

/** Names, top-ups, jobs and limits that were hit, through the store, of customers without any. */
export function fillCustomers(database: string, accounts: readonly string[]): Promise<void> {
  return commitAll(
    database,
    accounts.flatMap((account, place) => unitsOf(account, place)),
  )
}

function unitsOf(account: string, place: number): Op[][] {
  const atMs = Date.now() - 2 * hourMs
  const set = { name: nameOf(place), email: emailOf(place) }
  const units: Op[][] = [[{ op: 'customer', account, set, atMs }]]
  for (let n = 0; n < ofEachCustomer.payments; n++) {
    const payment = `eip155:8453:usdc:${payerOf(place)}:${n}`
    const transaction = transactionOf(payment)
    const of = {
      network: 'eip155:8453',
      payer: payerOf(place),
      amount: microUsd(5_000_000n),
      payload: '{}',
      transaction,
    }
    const to = (['credited', 'unknown', 'expired', 'settling'] as const)[n % 4] ?? 'credited'
    units.push([{ op: 'payment', payment, from: null, to: 'claimed', fence: 0, set: of, atMs }])
    units.push([{ op: 'payment', payment, from: 'claimed', to, fence: 1, set: {}, atMs }])
  }
  for (let n = 0; n < ofEachCustomer.jobs; n++) {
    const [job, request] = [uuidV7(atMs), uuidV7(atMs)]
    const of = { account, model: `model-${n % 4}`, request, input: '{}' }
    units.push([{ op: 'job', job, from: null, to: 'queued', fence: 0, set: of, atMs }])
    const failure = JSON.stringify({ reason: 'The engine failed.', contentPolicy: false })
    const ended = { failure, input: null, lease: null }
    units.push([{ op: 'job', job, from: 'queued', to: 'failed', fence: 1, set: ended, atMs }])
  }
  const hit: Op = { op: 'limit', account, key: null, model: 'model-1', tier: 'S', type: 'RPM', atMs }
  units.push(Array.from({ length: ofEachCustomer.limitHits }, () => hit))
  return units
}
