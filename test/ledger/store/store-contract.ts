/** The contract of every store. Both stores run the same tests. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FoldingStore, Store } from '#ledger/store/store.ts'
import type { Tables } from '#ledger/store/tables.ts'
import type { LogLimit, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { refusals } from './refusal-rules.ts'
import { fundRefusals } from './refusal-rules-funds.ts'
import {
  account,
  capture,
  commitOps,
  commitUnit,
  extend,
  grant,
  hold,
  job,
  key,
  lease,
  mustCommit,
  nonce,
  nowMs,
  receiptKey,
  refund,
  release,
  renew,
  revokeKey,
  unit,
  wallet,
} from './sample-ops.ts'
import { customersContract } from './store-contract-customers.ts'
import { daySumsContract } from './store-contract-day-sums.ts'
import { fundsContract } from './store-contract-funds.ts'
import { sameAsModel } from './store-model-property.ts'

const met: LogLimit = {
  ...{ op: 'limit', account: 'ada', key: null, model: 'demo-chat', tier: 'S', type: 'RPM', atMs: nowMs },
}

export interface OpenedStore {
  store: FoldingStore
  /** Closes the store and opens the same data again. */
  reopen(): Promise<FoldingStore>
  /** Runs a statement behind the store's back. */
  tamper(sql: string): void | Promise<void>
  dispose(): Promise<void>
}

const tables = [
  ...(['account', 'wallet', 'api_key', 'key_use', 'staking_credit', 'hold', 'ended_hold', 'unit', 'entry'] as const),
  ...(['nonce', 'job', 'job_input', 'payment', 'claim', 'claim_answer', 'limit_log'] as const),
  ...(['ledger_state', 'secret_mark', 'receipt_key', 'customer', 'operator_act', 'operator'] as const),
]

/** Every row of every table, to see that nothing has changed. */
export async function everything(store: Store): Promise<Record<string, unknown>> {
  const dump: Partial<Record<keyof Tables, unknown>> = {}
  for (const table of tables) dump[table] = await store.read.selectFrom(table).selectAll().execute()
  return dump
}

export function storeContract(name: string, openStore: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    let store: Store
    beforeEach(async () => {
      opened = await openStore()
      store = opened.store
    })
    afterEach(() => opened.dispose())

    const balance = async (id = 'ada') => {
      const columns = ['posted', 'held'] as const
      return store.read.selectFrom('account').select(columns).where('id', '=', id).executeTakeFirstOrThrow()
    }

    test.each([...refusals, ...fundRefusals])('refuses as $why: $rule', async ({ before, ops, why, op = 0 }) => {
      for (const done of before) await mustCommit(store, ...done)
      const rows = await everything(store)
      expect(await commitOps(store, ...ops)).toEqual({ ok: false, op, why })
      expect(await everything(store)).toEqual(rows)
    })

    test('a hold reserves, a capture charges its lines and frees the rest', async () => {
      await mustCommit(store, account(), grant(100n))
      const held = await commitOps(store, hold('h', 60n))
      expect(held).toEqual({ ok: true, again: false, balances: [{ account: 'ada', posted: 100n, held: 60n }] })
      const charged = await commitOps(store, capture('h', [30n, 0n, 12n], 'r'))
      expect(charged).toEqual({ ok: true, again: false, balances: [{ account: 'ada', posted: 58n, held: 0n }] })
      const entries = await store.read
        .selectFrom('entry')
        .selectAll()
        .where('kind', '=', 'CHARGE')
        .orderBy('seq')
        .execute()
      expect(entries.map(({ line, effect, posted_after }) => [line, effect, posted_after])).toEqual([
        [0, -30n, 70n],
        [1, 0n, 70n],
        [2, -12n, 58n],
      ])
      const shown = { request: 'r', model: 'demo-chat', sku: 'part-0', units: 30n, created_at_ms: nowMs }
      expect(entries[0]).toMatchObject({ ...shown, unit_price_pico_usd: 1_000_000n, account: 'ada' })
      expect(await store.read.selectFrom('hold').selectAll().execute()).toEqual([])
    })

    test('a release and a capture without lines free the whole hold and charge nothing', async () => {
      await mustCommit(store, account(), grant(10n), hold('h', 10n))
      await mustCommit(store, release('h'), hold('i', 10n))
      await mustCommit(store, capture('i', []))
      expect(await balance()).toEqual({ posted: 10n, held: 0n })
    })

    test('an extension grows the hold that a capture may use', async () => {
      await mustCommit(store, account(), grant(10n), hold('h', 4n))
      await mustCommit(store, extend('h', 6n))
      expect(await balance()).toEqual({ posted: 10n, held: 10n })
      await mustCommit(store, capture('h', [10n]))
      expect(await balance()).toEqual({ posted: 0n, held: 0n })
    })

    test('a lease can be renewed by its owner, and recovery takes a hold only after it', async () => {
      await mustCommit(store, account(), grant(10n), hold('h', 4n, 'ada', lease(nowMs)))
      await mustCommit(store, renew('h', lease(nowMs + 10)))
      expect(await commitOps(store, release('h', nowMs + 9))).toMatchObject({ ok: false, why: 'lease_live' })
      await mustCommit(store, release('h', nowMs + 10))
      expect(await balance()).toEqual({ posted: 10n, held: 0n })
    })

    test('a refund gives back all lines of a request as one entry', async () => {
      await mustCommit(store, account(), grant(50n), hold('h', 50n))
      await mustCommit(store, capture('h', [20n, 3n], 'r'))
      const outcome = await commitOps(store, refund('r'))
      expect(outcome).toMatchObject({ ok: true, balances: [{ account: 'ada', posted: 50n, held: 0n }] })
      const rows = await store.read.selectFrom('entry').selectAll().where('kind', '=', 'REFUND').execute()
      expect(rows).toMatchObject([
        { effect: 23n, posted_after: 50n, request: 'r', model: 'demo-chat', ref: 'refund:r' },
      ])
    })

    test('one unit may open, fund, hold and charge, and tells every balance that it touched', async () => {
      const outcome = await commitOps(
        store,
        ...[account('ada'), grant(9n), account('bob'), grant(5n, 'welcome', 'bob')],
        ...[hold('h', 9n), capture('h', [2n])],
      )
      const balances = [
        { account: 'ada', posted: 7n, held: 0n },
        { account: 'bob', posted: 5n, held: 0n },
      ]
      expect(outcome).toEqual({ ok: true, again: false, balances })
    })

    test('opening, linking, revoking and publishing again changes nothing', async () => {
      await mustCommit(store, account(), wallet('0xab'), key('k'), revokeKey('k'), receiptKey('r'))
      const { unit: _, ...before } = await everything(store)
      await mustCommit(store, account(), wallet('0xab'), { op: 'revokeKey', key: 'k', atMs: nowMs + 1 })
      await mustCommit(store, receiptKey('r', 'another key'))
      const { unit: __, ...after } = await everything(store)
      expect(after).toEqual(before)
      expect(after.receipt_key).toMatchObject([{ id: 'r', public_key: 'public key of r' }])
    })

    test('a job moves by state and fence, and keeps the fields that a move leaves out', async () => {
      await mustCommit(store, account(), job('j', null, 'queued', 0, { input: '{"prompt":1}' }))
      await mustCommit(store, job('j', 'queued', 'running', 1, { lease: lease(7), engineState: '{"at":1}' }))
      await mustCommit(store, job('j', 'running', 'completed', 2, { lease: null, result: '{"file":"a"}' }))
      const row = await store.read.selectFrom('job').selectAll().executeTakeFirstOrThrow()
      expect(row).toMatchObject({ state: 'completed', fence: 3, engine_state: '{"at":1}', result: '{"file":"a"}' })
      expect(row).toMatchObject({ lease_owner: null, lease_until_ms: null, failure: null })
      const input = () => store.read.selectFrom('job_input').selectAll().execute()
      expect(await input()).toEqual([{ job: 'j', input: '{"prompt":1}' }])
      await mustCommit(store, job('j', 'completed', 'deleted', 3, { input: null }))
      expect(await input()).toEqual([])
    })

    test('the same unit again returns its first outcome and does nothing', async () => {
      const first = unit(account(), grant(10n), hold('h', 4n))
      const outcome = await commitUnit(store, first)
      await mustCommit(store, grant(1n))
      const before = await everything(store)
      expect(await commitUnit(store, first)).toEqual({ ...outcome, again: true })
      expect(await everything(store)).toEqual(before)
    })

    test('equal ids in one batch are applied once', async () => {
      const twin = unit(account(), grant(10n))
      const outcomes = await store.commit([twin, twin, twin])
      expect(outcomes.map(outcome => outcome.ok && outcome.again)).toEqual([false, true, true])
      expect(await balance()).toEqual({ posted: 10n, held: 0n })
    })

    test('a refused unit is judged anew when it comes again', async () => {
      const early = unit(hold('h', 5n))
      await mustCommit(store, account())
      expect(await commitUnit(store, early)).toMatchObject({ ok: false, why: 'insufficient_funds' })
      await mustCommit(store, grant(5n))
      expect(await commitUnit(store, early)).toMatchObject({ ok: true, again: false })
    })

    test.each([
      ['does not start with a UUIDv7', 'hold/0190a6d2-0000-7000-8000-000000000000'],
      ['is in upper case', '0190A6D2-0000-7000-8000-000000000000'],
      ['has a NUL', '0190a6d2-0000-7000-8000-000000000000/\0'],
      ['has half a surrogate pair', '0190a6d2-0000-7000-8000-000000000000/\ud800'],
      ['is longer than an id may be', `0190a6d2-0000-7000-8000-000000000000/${'x'.repeat(512)}`],
    ])('a unit whose id %s is invalid, because it would never be pruned or found', async (_why, id) => {
      expect(await commitUnit(store, { id, ops: [account()] })).toEqual({ ok: false, op: -1, why: 'invalid' })
    })

    test.each([
      ['without operations', {}],
      ['whose operations are no list', { ops: 'hold' }],
      ['with nothing for an operation', { ops: [null] }],
    ])('a unit %s stops no other', async (_what, parts) => {
      const strange = commitUnit(store, { id: uuidV7(0), ...parts } as Unit).catch(error => error)
      const other = commitUnit(store, { id: uuidV7(0), ops: [account()] })
      expect(await other).toMatchObject({ ok: true })
      expect(await strange).not.toMatchObject({ ok: true })
    })

    test('1,000 holds at once against credit for 100: exactly 100', async () => {
      await mustCommit(store, account(), grant(700n))
      const holds = Array.from({ length: 1_000 }, (_, index) => commitOps(store, hold(`h${index}`, 7n)))
      const outcomes = await Promise.all(holds)
      expect(outcomes.filter(outcome => outcome.ok)).toHaveLength(100)
      expect(outcomes.filter(outcome => !outcome.ok && outcome.why === 'insufficient_funds')).toHaveLength(900)
      expect(await balance()).toEqual({ posted: 700n, held: 700n })
    })

    test('a nonce serves one of a hundred that bring it at once', async () => {
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => commitOps(store, nonce('n'))))
      expect(outcomes.filter(outcome => outcome.ok)).toHaveLength(1)
    })

    test.each([
      ['an entry is never changed', 'UPDATE entry SET amount = 1', 'append-only'],
      ['an entry is never deleted', 'DELETE FROM entry', 'append-only'],
      [
        'a ref and line are entered once',
        'INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, created_at_ms) SELECT id, kind, account, debit, credit, amount, posted_after, ref, line, created_at_ms FROM entry',
        'unique',
      ],
      ['credit is never below what is held', 'UPDATE account SET held = posted + 1', 'check'],
      ['nothing held is below zero', 'UPDATE account SET held = -1', 'check'],
    ])('%s, even behind the store', async (_rule, sql, why) => {
      await mustCommit(store, account(), grant(10n))
      const before = await everything(store)
      await expect(async () => opened.tamper(sql)).rejects.toThrow(new RegExp(why, 'i'))
      expect(await everything(store)).toEqual(before)
    })

    test('amounts beyond 2^53 come back exact', async () => {
      const large = 2n ** 53n + 1n
      await mustCommit(store, account())
      for (let part = large; part > 0n; part -= 10n ** 15n)
        await mustCommit(store, grant(part < 10n ** 15n ? part : 10n ** 15n))
      expect(await balance()).toEqual({ posted: large, held: 0n })
    })

    test('what was acknowledged is there after a reopening, outcomes included', async () => {
      const first = unit(account(), grant(10n), hold('h', 4n))
      const outcome = await commitUnit(store, first)
      const before = await everything(store)
      store = await opened.reopen()
      expect(await everything(store)).toEqual(before)
      expect(await commitUnit(store, first)).toEqual({ ...outcome, again: true })
    })

    test('closing finishes what was taken and refuses what comes later', async () => {
      const taken = Array.from({ length: 600 }, (_, index) => commitOps(store, account(`a${index}`)))
      const closed = store.close()
      await expect(commitOps(store, account('late'))).rejects.toMatchObject({ kind: 'closed' })
      await closed
      expect((await Promise.all(taken)).every(outcome => outcome.ok)).toBe(true)
      store = await opened.reopen()
      expect(await store.read.selectFrom('account').select('id').execute()).toHaveLength(600)
    })

    test('§11.2 of the log of met limits an account keeps its newest 50, and others keep theirs', async () => {
      const rows = Array.from({ length: 60 }, (_, at) => unit({ ...met, model: `m${at}` }))
      await store.commit([unit({ ...met, account: 'bob' }), ...rows.slice(0, 30)])
      await store.commit(rows.slice(30))
      const kept = await store.read.selectFrom('limit_log').select(['account', 'model']).orderBy('seq').execute()
      expect(kept.filter(({ account }) => account === 'bob')).toHaveLength(1)
      const models = kept.filter(({ account }) => account === met.account).map(({ model }) => model)
      expect(models).toEqual(Array.from({ length: 50 }, (_, at) => `m${at + 10}`))
    })

    fundsContract(() => store)
    customersContract(() => opened)
    daySumsContract(() => opened)

    test('any units in any batches leave what a small model of the ledger leaves', { timeout: 60_000 }, () =>
      sameAsModel(store),
    )
  })
}
