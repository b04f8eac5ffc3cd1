/** Background checks of payments: whether they can be settled, which are unfinished, and which ledger has them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { evmNetwork, solanaNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { birthMarginMs, completionIntervalMs, watchIntervalMs } from '#payments/bounds.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import type { OnChain, SignedPayment } from '#payments/payment/payment.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import { Completer } from '#payments/top-ups/payment-driver.ts'
import { PaymentWatch } from '#payments/top-ups/payment-watch.ts'
import { LedgerChain } from '#payments/top-ups/top-up.ts'
import { NoTopUps } from '#payments/top-ups/top-up-offer.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'

const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo: '0x' },
  maxTimeoutSeconds: 300,
}
const evm = { rail: 'evm', key: 'k', option } as EvmPayment
const svm = { rail: 'svm', key: 'k', option } as SignedPayment

let told: [kind: string, message: string, facts: object][]
const log = {
  info: (facts: object, message: string) => void told.push(['info', message, facts]),
  warn: (facts: object, message: string) => void told.push(['warn', message, facts]),
  error: (facts: object, message: string) => void told.push(['error', message, facts]),
}
beforeEach(() => {
  told = []
})
afterEach(() => {
  vi.useRealTimers()
})

const facilitatorOf = (parts: Partial<Facilitator<never>>) => parts as Facilitator

describe('a watch over settling', () => {
  let says: (string | Error | null)[]
  let asked: PaymentOption[]
  const watch = () => {
    const problem = async (of: PaymentOption) => {
      const said = says[Math.min(asked.push(of), says.length) - 1] ?? null
      if (said instanceof Error) throw said
      return said
    }
    return new PaymentWatch({ options: [option], facilitator: facilitatorOf({ problem }), log })
  }
  beforeEach(() => {
    says = [null]
    asked = []
  })
  const broken = (problem: string) => ['error', 'Payments cannot be settled.', { network: evmNetwork, problem }]
  const well = ['info', 'Payments can be settled again.', { network: evmNetwork }]
  const unchecked = 'Checking whether payments can be settled failed.'

  const rows: [rule: string, says: (string | Error | null)[], told: unknown[], problems: string[]][] = [
    ['says nothing where all is well', [null, null], [], []],
    ['tells a problem once', ['No gas.', 'No gas.'], [broken('No gas.')], ['No gas.']],
    ['tells another problem', ['No gas.', 'No node.'], [broken('No gas.'), broken('No node.')], ['No node.']],
    ['tells that all is well again, once', ['No gas.', null, null], [broken('No gas.'), well], []],
    ['tells where it could not look', [new Error('away')], [broken(unchecked)], [unchecked]],
  ]
  test.each(rows)('%s', async (_rule, saying, words, problems) => {
    says = saying
    const looking = watch()
    for (const _ of saying) await looking.look()
    expect([told, looking.problems]).toEqual([words, problems])
    expect(asked).toEqual(saying.map(() => option))
  })

  test('checks once for all simultaneous callers', async () => {
    const looking = watch()
    await Promise.all([looking.look(), looking.look()])
    expect(asked).toHaveLength(1)
  })

  test('looks at its start and every minute, until it is stopped', async () => {
    vi.useFakeTimers()
    const looking = watch()
    looking.start()
    looking.start()
    expect(asked).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2 * watchIntervalMs)
    expect(asked).toHaveLength(3)
    await looking.stop()
    await vi.advanceTimersByTimeAsync(2 * watchIntervalMs)
    expect([asked.length, vi.getTimerCount()]).toEqual([3, 0])
    looking.start()
    await looking.stop()
    expect(asked).toHaveLength(4)
  })
})

describe('a completer', () => {
  let rounds: number
  let failure: Error | null
  let freed: number
  let going: PromiseWithResolvers<void> | null
  const completer = () => {
    const rows = {
      freeDead: async () => void freed++,
      abandoned: async () => {
        rounds++
        await going?.promise
        if (failure) throw failure
        return []
      },
    }
    return new Completer({ rows: rows as never, driver: {} as never, log })
  }
  beforeEach(() => {
    vi.useFakeTimers()
    ;[rounds, failure, freed, going] = [0, null, 0, null]
  })

  test('frees what the dead left, once, and looks at its start and every five seconds until it is stopped', async () => {
    const one = completer()
    await one.start()
    expect([freed, rounds]).toEqual([1, 1])
    await vi.advanceTimersByTimeAsync(2 * completionIntervalMs)
    expect([freed, rounds]).toEqual([1, 3])
    await one.stop()
    await vi.advanceTimersByTimeAsync(2 * completionIntervalMs)
    expect([rounds, vi.getTimerCount()]).toEqual([3, 0])
  })

  test('begins no round while one runs, and its stop waits for that one', async () => {
    const one = completer()
    await one.start()
    going = Promise.withResolvers()
    await vi.advanceTimersByTimeAsync(3 * completionIntervalMs)
    expect(rounds).toBe(2)
    let hasStopped = false
    const stopped = one.stop().then(() => {
      hasStopped = true
    })
    await vi.advanceTimersByTimeAsync(1)
    expect(hasStopped).toBe(false)
    going.resolve()
    await stopped
    expect(rounds).toBe(2)
  })

  test('tells of a round that failed, and begins the next one', async () => {
    const one = completer()
    failure = new Error('the ledger is unreachable')
    await one.start()
    const message = 'Looking for unfinished payments failed; the next round tries again.'
    expect(told).toEqual([['error', message, { err: failure }]])
    await vi.advanceTimersByTimeAsync(completionIntervalMs)
    expect(rounds).toBe(2)
    await one.stop()
  })
})

describe('a chain as this ledger sees it', () => {
  const madeAtMs = Date.parse('2026-11-01T00:00:00.000Z')
  const oldest = (madeAtMs - birthMarginMs) / 1_000
  const landed = { state: 'landed', transaction: '0x1', amount: microUsd(5) } as const
  const before: OnChain = { state: 'void', reason: 'paid_before' }
  const rows: [rule: string, seen: OnChain, found: OnChain | null][] = [
    ['a transfer of the last moment that counts is one', { ...landed, atSeconds: oldest }, null],
    ['one of a second before it was meant for others', { ...landed, atSeconds: oldest - 1 }, before],
    ['one whose time the chain has forgotten counts', landed, null],
    ['what did not land stays what it is', { state: 'open', chainTimeSeconds: 1 }, null],
  ]
  test.each(rows)('%s', async (_rule, seen, found) => {
    const { store, tamper, dispose } = await openTemporaryStore()
    await tamper(`UPDATE kysely_migration SET timestamp = '${new Date(madeAtMs).toISOString()}'`)
    const chain = new LedgerChain({ find: async () => seen }, store)
    expect([await chain.find(evm, null), await chain.find(evm, null)]).toEqual([found ?? seen, found ?? seen])
    await dispose()
  })

  test('gives a payment the end that the chain gives it, or leaves it as it is', async () => {
    const dated = { ...evm, key: 'dated' }
    const store = {} as never
    const find = async (): Promise<OnChain> => ({ state: 'open' })
    expect(await new LedgerChain({ find, dated: async () => dated }, store).dated(evm)).toBe(dated)
    expect(await new LedgerChain({ find }, store).dated(evm)).toBe(evm)
  })
})

describe('each rail', () => {
  const refused = { valid: false, reason: 'expired' } as const
  const parts = (network: string, close?: () => Promise<void>) =>
    facilitatorOf({
      verify: async payment => (payment === (network === evmNetwork ? evm : svm) ? { valid: true } : refused),
      settle: async () => ({ state: 'settled', transaction: network }),
      supported: () => [network],
      problem: async of => `of ${of.network}`,
      ...(close ? { close } : {}),
    })

  test('has its facilitator, and both are closed', async () => {
    let closed = 0
    const close = async () => void closed++
    const both = new RailFacilitators({ evm: parts(evmNetwork, close), svm: parts(solanaNetwork) })
    expect([await both.verify(evm), await both.verify(svm)]).toEqual([{ valid: true }, { valid: true }])
    expect(await both.settle(evm)).toEqual({ state: 'settled', transaction: evmNetwork })
    expect(await both.settle(svm)).toEqual({ state: 'settled', transaction: solanaNetwork })
    expect(both.supported()).toEqual([evmNetwork, solanaNetwork])
    expect(await both.problem({ ...option, network: solanaNetwork })).toBe(`of ${solanaNetwork}`)
    expect(await both.problem({ ...option, network: 'eip155:1' })).toBe('No facilitator settles payments on eip155:1.')
    await both.close()
    expect(closed).toBe(1)
  })

  test('has its chain, which may give a payment its end', async () => {
    const found = (transaction: string): OnChain => ({ state: 'landed', transaction, amount: microUsd(1) })
    const dated = { ...svm, key: 'dated' } as never
    const both = new RailChains({
      evm: { find: async () => found('evm') },
      svm: { find: async () => found('svm'), dated: async () => dated },
    })
    expect([await both.find(evm, null), await both.find(svm, null)]).toEqual([found('evm'), found('svm')])
    expect([await both.dated(evm), await both.dated(svm)]).toEqual([evm, dated])
    const other = new RailChains({
      evm: { find: async () => found('evm'), dated: async () => dated },
      svm: { find: async () => found('svm') },
    })
    expect([await other.dated(evm), await other.dated(svm)]).toEqual([dated, svm])
  })

  test('that is no longer configured is reported, and never guessed', async () => {
    const sentence = (rail: string) => `Payments on ${rail} are no longer configured; configure them again.`
    const [none, noChain] = [new RailFacilitators({}), new RailChains({})]
    for (const payment of [evm, svm]) {
      await expect(none.verify(payment)).rejects.toThrow(sentence(payment.rail))
      await expect(none.settle(payment)).rejects.toThrow(sentence(payment.rail))
      await expect(noChain.find(payment, null)).rejects.toThrow(sentence(payment.rail))
      await expect(noChain.dated(payment)).rejects.toThrow(sentence(payment.rail))
    }
    expect(none.supported()).toEqual([])
    await none.close()
  })
})

describe('a service that accepts no payments', () => {
  const ask = async (values: string[]) => {
    let counted = 0
    const service = new NoTopUps({ publicUrl: 'https://pay.example' })
    const header = (name: string) => (name === 'payment-signature' ? values : [])
    const count = async () => void counted++
    const refusal = await service.topUp({ header, count } as never).catch((error: unknown) => error)
    await service.close()
    return { refusal, counted }
  }

  test('offers nothing to sign, and counts its callers', async () => {
    expect(await ask([])).toMatchObject({ refusal: { status: 402, body: { accepts: [] } }, counted: 1 })
  })

  test('takes nothing that was signed', async () => {
    const header = { x402Version: 2, scheme: 'exact', network: 'base', payload: {} }
    const sent = Buffer.from(JSON.stringify(header)).toString('base64')
    const details = { reason: 'unsupported_network', networks: [] }
    expect(await ask([sent])).toMatchObject({ refusal: { status: 400, body: { details } }, counted: 1 })
  })
})
