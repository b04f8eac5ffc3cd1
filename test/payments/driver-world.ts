/** Real ledger of payments, with a facilitator and a chain that say what a test tells them to. */
import { setTimeout as sleep } from 'node:timers/promises'
import { microUsd } from '#contract/money.ts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import type { Facilitator, Settlement, Verdict } from '#payments/facilitators/rail.ts'
import {
  ChainUnavailable,
  type OnChain,
  type PaymentChain,
  type PaymentReason,
  type SignedPayment,
} from '#payments/payment/payment.ts'
import { PaymentDriver } from '#payments/top-ups/payment-driver.ts'
import { PaymentRows } from '#payments/top-ups/payment-rows.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'
import { TestClock } from '../service/open-service.ts'

/** The facilitator's answers, and what the chain shows at each check; the last ones repeat. */
export interface Told {
  verdict?: Verdict
  settlement?: Settlement | Error
  seen?: (OnChain | Error)[]
  /** Happens instead of the waits between the checks. */
  pause?: (ms: number) => Promise<void>
}

export const landed: OnChain = { state: 'landed', transaction: '0xfeed', amount: microUsd(5_000_000) }
export const open: OnChain = { state: 'open' }
export const away = new ChainUnavailable('The node is away.')
export const refused = (reason: PaymentReason): Verdict => ({ valid: false, reason })

/** Five dollars that are good for two minutes, of a payer of their own. */
export function signedPayment(
  count: number,
  nowSeconds: number,
  terms: Partial<EvmPayment['authorization']> = {},
): EvmPayment {
  const number = count.toString(16)
  const from = `0x${number.padStart(40, 'a')}`
  const times = { validAfter: '0', validBefore: `${nowSeconds + 120}` }
  const nonce = `0x${number.padStart(64, '0')}`
  const authorization = { from, to: `0x${'c'.repeat(40)}`, value: '5000000', ...times, nonce, ...terms }
  const option: PaymentOption = {
    scheme: 'exact',
    ...{ network: 'eip155:8453', amount: '5000000', asset: usdcOnEvm, payTo: authorization.to },
    maxTimeoutSeconds: 300,
  }
  return { rail: 'evm', key: `evm:8453:${number}`, option, authorization, signature: `0x${'11'.repeat(65)}` }
}

const uncounted = async () => undefined
const wait = async (ms: number) => sleep(ms)

export type DriverWorld = Awaited<ReturnType<typeof openDriverWorld>>

export async function openDriverWorld() {
  const { store, tamper, dispose } = await openTemporaryStore()
  let made = 0
  const rowsOf = (owner: string, of: Store = store) => new PaymentRows({ store: of, clock: world.clock, owner })

  const signed = (terms: Partial<EvmPayment['authorization']> = {}) => signedPayment(++made, world.seconds(), terms)

  function driverOf({ verdict = { valid: true }, settlement, seen = [open], pause = wait }: Told) {
    const asked = { settled: 0, found: [] as (string | null)[] }
    const facilitator: Facilitator = {
      verify: async () => verdict,
      settle: async () => {
        asked.settled++
        if (settlement instanceof Error) throw settlement
        return settlement ?? { state: 'settled', transaction: '0xfeed' }
      },
      supported: () => [],
      problem: async () => null,
    }
    const chain: PaymentChain = {
      find: async (_, transaction) => {
        asked.found.push(transaction)
        const look = seen[Math.min(asked.found.length, seen.length) - 1] ?? open
        if (look instanceof Error) throw look
        return look
      },
    }
    const tell = (facts: object, message: string) => {
      world.logged.push(message)
      world.facts.push(facts)
    }
    const log = { info: tell, warn: tell, error: tell }
    const driver = new PaymentDriver({ ...world, facilitator, chain, log, pause })
    return { asked, log, facilitator, chain, driver }
  }

  /** Begins a payment, and answers what stands in the ledger afterwards. */
  async function begin(told: Told, payment = signed()) {
    const { driver, asked } = driverOf(told)
    const refusal = await driver.begin(payment, await world.rows.find(payment.key), uncounted).then(
      () => null,
      error => error?.body?.details?.reason ?? error,
    )
    return { payment, refusal, asked, ...(await stateOf(payment)) }
  }

  async function stateOf({ key }: SignedPayment) {
    const row = await world.rows.find(key)
    const entry = await creditOf(store, key)
    return { row, state: row?.state ?? null, credited: entry ?? null }
  }

  const clock = new TestClock()
  const world = {
    ...{ store, tamper, dispose, rowsOf, signed, driverOf, begin, stateOf },
    clock,
    rows: new PaymentRows({ store, clock, owner: 'one' }),
    logged: [] as string[],
    /** What was told beside each message. */
    facts: [] as object[],
    seconds: () => Math.floor(world.clock.now() / 1000),
    begins() {
      world.clock = new TestClock()
      world.rows = rowsOf('one')
      world.logged = []
      world.facts = []
    },
  }
  return world
}

const creditOf = ({ read }: Pick<Store, 'read'>, key: string) =>
  read.selectFrom('entry').select(['amount', 'account']).where('ref', '=', `topup:${key}`).executeTakeFirst()
