import { hostname } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import { thisMachine } from '#wallet/ids.ts'
import type { Payment } from '#wallet/records/journal.ts'
import * as journal from '#wallet/records/journal.ts'
import { change, first, type Records } from '#wallet/records/records.ts'
import { start, stop } from '#wallet/rules/stop-switch.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { fakeClock, fakeService, order, payTo, sampleWallet, usd } from './sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore, type TestStore } from './test-store.ts'

describe('records in a file', () => recordsContract(fileStore))
withPostgres('records in PostgreSQL', cluster => recordsContract(postgresStore(cluster)))

/** What every store of the wallet's records keeps. */
function recordsContract(openStore: OpenTestStore): void {
  let store: TestStore
  const opened: (() => void)[] = []
  const setUp = async () => {
    store = await openStore()
    return store
  }
  afterEach(async () => {
    for (const dispose of opened.splice(0)) dispose()
    await store.dispose()
  })

  /** A wallet on these records, in a folder of its own as another replica has it. */
  const replica = async (records: Records, options: Parameters<typeof sampleWallet>[1] = {}) => {
    const sample = await sampleWallet({}, { records, ...options })
    opened.push(sample.dispose)
    return sample.wallet
  }

  test('a payment has one row, which says the same wherever it is kept', async () => {
    await setUp()
    const wallet = await replica(store.open())
    const { receiptId } = await wallet.pay(order(), fakeService(wallet.address, 'credit').send)
    const [payment, ...others] = await wallet.receipts(9)
    expect(others).toEqual([])
    expect(payment).toEqual({
      id: receiptId,
      state: 'confirmed',
      counts: true,
      occasion: 'after-402',
      purpose: 'a chat',
      address: wallet.address,
      origin: 'https://service.example',
      network: 'eip155:8453',
      asset: expect.stringMatching(/^0x/),
      payTo,
      amountMicroUsd: usd(5),
      createdAtMs: store.now(),
      updatedAtMs: store.now(),
      nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      validBeforeMs: store.now() + 300_000,
      lastValidBlockHeight: null,
      memo: null,
      sends: 1,
      isRejected: false,
      reason: null,
      confirmedAtMs: store.now(),
      creditedMicroUsd: usd(5),
      balanceMicroUsd: usd(5),
      transaction: '0xabc',
    } satisfies Payment)
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: usd(5), spentTotalMicroUsd: usd(5) })
  })

  test('what a decision throws leaves no trace', async () => {
    await setUp()
    const records = store.open()
    const refused = records.decide(function* (nowMs) {
      yield* stop('a test', nowMs)
      throw new WalletRefusal({ rule: 'order', sentence: 'No.', nextStep: 'Nothing.' })
    })
    await expect(refused).rejects.toMatchObject({ rule: 'order' })
    expect(await records.read(() => first('SELECT * FROM stops'))).toBe(undefined)
  })

  test('what a decision reads does not change before it writes', async () => {
    await setUp()
    await store.open().decide(nowMs => stop('0', nowMs))
    const replicas = [store.open(), store.open(), store.open()]
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        replicas[n % 3]?.decide(function* () {
          const row = yield* first('SELECT by_whom FROM stops')
          yield* change('UPDATE stops SET by_whom = ?', String(Number(row?.by_whom) + 1))
        }),
      ),
    )
    expect(await store.open().read(() => first('SELECT by_whom FROM stops'))).toEqual({ by_whom: '30' })
  })

  test('replicas share one budget', async () => {
    await setUp()
    const wallets = await Promise.all(Array.from({ length: 4 }, () => replica(store.open(), { pause: undefined })))
    const services = wallets.map(wallet => fakeService(wallet.address, 'credit'))
    const ended = await Promise.allSettled(
      wallets.flatMap((wallet, n) => [1, 2].map(() => wallet.pay(order(), services[n]?.send ?? expect.fail()))),
    )
    expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    expect(services.reduce((sum, { settled }) => sum + settled.size, 0)).toBe(1)
  })

  test('a replica whose clock is days ahead gains nothing', async () => {
    await setUp()
    const clock = fakeClock()
    const ahead = fakeClock(store.now() + 40 * 86_400_000)
    const wallet = await replica(store.open(), { clock })
    const other = await replica(store.open(), { clock: ahead })
    const service = fakeService(wallet.address, 'credit')
    await wallet.pay(order(), service.send)
    await store.advance(60_000)
    await other.pay(order(), service.send)
    await store.advance(60_000)
    // In a file the clock of the records is the machine's own, which is not the wallet's here either.
    await expect(other.pay(order(), service.send)).rejects.toMatchObject({ rule: 'max-day' })
    const [payment] = await wallet.receipts(1)
    expect(payment?.validBeforeMs).toBe(store.now() - 60_000 + 300_000)
    await store.advance(86_400_000 - 60_000 - 1)
    await other.pay(order(), service.send)
    expect(service.settled.size).toBe(3)
  })

  test('the switch for all stops every replica, also what is open, until it is thrown back', async () => {
    await setUp()
    const wallet = await replica(store.open())
    const other = await replica(store.open())
    const service = fakeService(wallet.address, 'lose before')
    await expect(wallet.pay(order(), service.send)).rejects.toMatchObject({ rule: 'outcome-unknown' })
    const sent = service.received.length
    await store.open().decide(nowMs => stop('terminal, ada', nowMs))
    for (const each of [wallet, other]) {
      await expect(each.pay(order(), service.send)).rejects.toMatchObject({ rule: 'stopped' })
      await expect(each.recover(service.send)).rejects.toMatchObject({ rule: 'stopped' })
      await expect(each.signIn('https://service.example/api/v1/models')).rejects.toMatchObject({ rule: 'stopped' })
      expect((await each.status()).isStopped).toBe(true)
    }
    expect(service.received).toHaveLength(sent)
    await store.open().decide(start)
    await expect(other.pay(order(), service.send)).rejects.toMatchObject({ rule: 'payment-open' })
  })

  const leases: [whose: string, owner: string, isWaitedFor: boolean][] = [
    ['of a process of this machine that has ended', `999999999@${hostname()}#gone ${thisMachine()}`, false],
    ['of a process of a machine or container with our name', `999999999@${hostname()}#x another/pid:[1]`, true],
    [
      'of another machine’s process, with an id that is unused here',
      '999999999@another-machine#x another/pid:[2]',
      true,
    ],
  ]
  test.each(leases)('a turn %s', async (_whose, owner, isWaitedFor) => {
    await setUp()
    const records = store.open()
    const pauses: number[] = []
    const wallet = await replica(records, {
      pause: async ms => {
        pauses.push(ms)
        await store.advance(10_000)
      },
    })
    await records.decide(nowMs =>
      change(
        'INSERT INTO top_up_lease ("only", token, owner, expires_at_ms) VALUES (1, ?, ?, ?)',
        'turn_x',
        owner,
        nowMs + 30_000,
      ),
    )
    await wallet.pay(order(), fakeService(wallet.address, 'credit').send)
    expect(pauses).toHaveLength(isWaitedFor ? 3 : 0)
  })

  test('a question and its answer are seen by all, and one yes is one payment', async () => {
    await setUp()
    const asking = await replica(store.open())
    const other = await replica(store.open())
    const asked = order({ occasion: 'asked', amountMicroUsd: usd(5) })
    const service = fakeService(asking.address, 'credit')
    const { approval } = await asking.pay(asked, service.send).catch(error => error)
    const approvals = openApprovals(store.open(), 'folder')
    expect(await approvals.list('pending')).toMatchObject([{ id: approval.approvalId, facts: approval.facts }])
    await approvals.resolve(approval.approvalId, { isApproved: true, by: 'terminal, ada' })
    await other.pay(asked, service.send)
    expect(await approvals.get(approval.approvalId)).toMatchObject({ state: 'approved', decidedBy: 'terminal, ada' })
    expect((await asking.pay(asked, service.send).catch(error => error)).name).toBe('NeedsApproval')
    expect(service.settled.size).toBe(1)
  })

  test('rows of one moment are told in the order in which they came', async () => {
    await setUp()
    const records = store.open()
    const ids = Array.from({ length: 12 }, (_, n) => `pay_${(n * 7) % 12}`)
    const payee = { origin: 'https://service.example', network: 'eip155:8453', asset: '0x1', payTo }
    for (const id of ids)
      await records.decide(nowMs =>
        journal.plan({ id, order: order(), payee, address: 'me', amountMicroUsd: usd(5) }, nowMs),
      )
    expect((await records.read(() => journal.openPayments(['me']))).map(({ id }) => id)).toEqual(ids)
    expect((await records.read(() => journal.listPayments(99))).map(({ id }) => id)).toEqual(ids.toReversed())
  })
}
