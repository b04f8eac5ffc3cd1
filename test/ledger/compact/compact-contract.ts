/** What compacting old entries must preserve, on every store. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { type AuditReport, audit } from '#ledger/audit/audit.ts'
import type { AuditReader } from '#ledger/audit/audit-reader.ts'
import { ChargeReceipts } from '#ledger/charges/receipts.ts'
import { compactedBefore, compactLedger, openWorkBefore, planCompaction } from '#ledger/compact/compact-ledger.ts'
import { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { EntryFold, Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import {
  account,
  budget,
  by,
  capture,
  claim,
  grant,
  hold,
  job,
  key,
  lease,
  mustCommit,
  nowMs,
  refund,
  staked,
} from '../store/sample-ops.ts'
import type { OpenedStore } from '../store/store-contract.ts'

/** Two whole months before the present one are kept. */
export const beforeMs = compactedBefore(nowMs, 2)
const september = Date.UTC(2026, 8, 10)
const october = Date.UTC(2026, 9, 31, 23, 59, 59, 999)

const at = (atMs: number, ...ops: Op[]): Op[] => ops.map(op => ('atMs' in op ? { ...op, atMs } : op) as Op)

/** A call whose request is named as the service names them, at its own time. */
const requestAt = (atMs: number, place: number) =>
  uuidV7Floor(atMs).replace(/0{12}$/, place.toString(16).padStart(12, '0'))

const oldRequest = requestAt(september, 1)

/** A year of a ledger in short: every kind of entry, in months that are folded and in one that is not. */
export async function writeYear(store: Store): Promise<void> {
  const write = (atMs: number, ...ops: Op[]) => mustCommit(store, ...at(atMs, ...ops))
  const call = (atMs: number, id: string, amounts: bigint[], of = 'ada', terms = {}) =>
    write(atMs, hold(id, 100n, of, lease(), terms), capture(id, amounts))
  await write(september, account(), account('bob'), grant(100_000n, 'a'), grant(100_000n, 'b', 'bob'))
  await write(september, key('limited', 'hash', 'ada', budget(50_000n, 50_000n)))
  await call(september, oldRequest, [7n, 3n])
  for (let place = 2; place < 8; place++) await call(september + place, requestAt(september, place), [5n, 0n])
  await call(september + 10, 'bobs', [9n], 'bob')
  for (const id of ['k1', 'k2', 'k3']) await call(september + 20, id, [4n, 2n], 'ada', by('limited'))
  for (const id of ['s1', 's2']) await call(september + 30, id, [30n], 'ada', { ...by('limited'), ...staked(40n) })
  await write(september + 40, hold('w1', 100n), capture('w1', [60n, 60n], 'w1', { writeOff: microUsd(20) }))
  // A top-up in between keeps its place, and the balance that it says it left.
  await write(september + 50, grant(1_000n, 'c'))
  await call(september + 60, 'after', [1n])
  await call(september + 61, 'after2', [1n])
  await write(october, hold('back', 50n), capture('back', [45n]), job('back', null, 'queued', 0, { request: 'back' }))
  for (const id of ['o1', 'o2', 'o3']) await call(october, id, [8n, 1n])
  await write(beforeMs, job('back', 'queued', 'failed', 1, { failure: '{}' }), refund('back'))
  for (const id of ['n1', 'n2', 'n3']) await call(beforeMs, id, [8n, 1n])
}

/** A sum that does not fit may meet a constraint of the table first. */
const refusedAs = expect.stringMatching(/^(unit_failed|broken_rule)$/)

const moneyOf = ({ systemMicroUsd, driftMicroUsd, findings, ok }: AuditReport) => ({
  ...{ systemMicroUsd, driftMicroUsd, findings, ok },
})

interface Place {
  open(): Promise<OpenedStore>
  /** A reader of what that has written. */
  reader(opened: OpenedStore): Promise<AuditReader> | AuditReader
}

export function compactContract(name: string, { open, reader }: Place): void {
  describe(name, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.dispose())

    const auditNow = async () => {
      const reading = await reader(opened)
      const report = await audit(reading, { clock: { now: () => nowMs } })
      await reading.close()
      return report
    }
    const entries = () => opened.store.read.selectFrom('entry').selectAll().orderBy('seq').execute()
    const balances = () => opened.store.read.selectFrom('account').selectAll().orderBy('id').execute()
    const uses = () => opened.store.read.selectFrom('key_use').selectAll().execute()

    test('every sum of the audit, every balance and every budget is what it was', async () => {
      await writeYear(opened.store)
      const [before, had, used] = [await auditNow(), await balances(), await uses()]
      const was = await entries()
      const gone = await compactLedger(opened.store, beforeMs)
      const after = await auditNow()
      expect(after.counts.entries).toBe(before.counts.entries - gone)
      expect(gone).toBeGreaterThan(20)
      expect(moneyOf(after)).toEqual({ ...moneyOf(before), ok: true, findings: [] })
      expect([await balances(), await uses()]).toEqual([had, used])
      const now = await entries()
      for (const kept of was.filter(({ kind, created_at_ms }) => kind === 'GRANT' || created_at_ms >= beforeMs))
        expect(now).toContainEqual(kept)
      expect(now.filter(({ request }) => request === 'back')).toEqual(was.filter(({ request }) => request === 'back'))
    })

    test('each key, budget period and staking day has a sum of its own, with a line for each model and SKU', async () => {
      await writeYear(opened.store)
      await compactLedger(opened.store, beforeMs)
      const sums = (await entries()).filter(({ request }) => request?.startsWith('archived:'))
      const lines = sums.map(({ kind, account: of, api_key, sku, amount }) => [kind, of, api_key, sku, amount])
      expect(lines).toEqual([
        ['WRITE_OFF', 'ada', null, null, 20n],
        ['STAKING', 'ada', 'limited', null, 40n],
        ['CHARGE', 'ada', null, 'archived.part-0', 97n],
        ['CHARGE', 'ada', null, 'archived.part-1', 63n],
        ['CHARGE', 'ada', 'limited', 'archived.part-0', 12n],
        ['CHARGE', 'ada', 'limited', 'archived.part-1', 6n],
        ['CHARGE', 'ada', 'limited', 'archived.part-0', 60n],
        ['CHARGE', 'ada', null, 'archived.part-0', 2n],
        ['CHARGE', 'ada', null, 'archived.part-0', 24n],
        ['CHARGE', 'ada', null, 'archived.part-1', 3n],
      ])
    })

    test('the plan says what will be done, and a second time there is nothing to do', async () => {
      await writeYear(opened.store)
      const before = (await entries()).length
      const plan = await planCompaction(opened.store.read, beforeMs)
      expect(plan.map(({ month }) => month)).toEqual(['2026-09', '2026-10'])
      const gone = await compactLedger(opened.store, beforeMs)
      expect(plan.reduce((sum, month) => sum + month.entries - month.sums, 0)).toBe(gone)
      expect((await entries()).length).toBe(before - gone)
      expect(await planCompaction(opened.store.read, beforeMs)).toEqual([])
      expect(await compactLedger(opened.store, beforeMs)).toBe(0)
    })

    test('the look-over of a running service finds nothing to stop for', async () => {
      await writeYear(opened.store)
      await compactLedger(opened.store, beforeMs)
      const said: string[] = []
      const tell = (_: object, message: string) => void said.push(message)
      const log = { info: tell, warn: tell, error: tell }
      await new LedgerWatch({ store: opened.store, clock: { now: () => nowMs }, log }).lookOverAtStart()
      expect(said).toEqual([])
    })

    test('ids of holds that ended before are forgotten, and no others', async () => {
      await writeYear(opened.store)
      const [old, young] = [requestAt(september, 9), requestAt(beforeMs, 9)]
      await mustCommit(opened.store, hold(old, 1n), capture(old, [1n]), hold(young, 1n), capture(young, [1n]))
      await compactLedger(opened.store, beforeMs)
      const ended = await opened.store.read.selectFrom('ended_hold').select('id').execute()
      const ids = ended.map(({ id }) => id)
      expect([ids.includes(old), ids.includes(young)]).toEqual([false, true])
    })

    test('a receipt of a call that was folded is not found, with until when receipts go back', async () => {
      await writeYear(opened.store)
      const receipts = new ChargeReceipts({
        ...{ store: opened.store, clock: { now: () => nowMs }, issuer: 'https://api.example.com/api/v1' },
        secret: 'a secret of a test, long enough for it',
      })
      expect((await receipts.of('ada', oldRequest)).charge).toMatch(/^ey/)
      await compactLedger(opened.store, beforeMs)
      await expect(receipts.of('ada', oldRequest)).rejects.toMatchObject({
        body: { error: expect.stringMatching(/no receipt for this request.*before 2026-11-01 are archived/s) },
      })
      const unknown = receipts.of('ada', requestAt(nowMs, 1))
      await expect(unknown).rejects.toMatchObject({ body: { error: expect.not.stringContaining('archived') } })
      const { data } = await receipts.list('ada', { limit: 100 })
      expect(data.map(({ kind, request }) => [kind, request])).toEqual([
        ...[
          ['charge', 'n3'],
          ['charge', 'n2'],
          ['charge', 'n1'],
          ['refund', 'back'],
          ['charge', 'back'],
        ],
      ])
      const [sum] = (await entries()).filter(({ request }) => request?.startsWith('archived:'))
      await expect(receipts.of('ada', sum?.request ?? '')).rejects.toMatchObject({ status: 404 })
    })

    const open_: [what: string, ops: Op[], found: RegExp][] = [
      ['a call that runs', at(september, hold('open', 5n)), /^hold open$/],
      ['a job that is queued', at(september, job('waits', null, 'queued', 0)), /^job waits$/],
      ['a key under which work goes on', at(september, claim('once', null, 'running', 0)), /^idempotency key once$/],
      ['nothing that began later', at(beforeMs, hold('young', 5n)), /^$/],
    ]
    test.each(open_)('%s is found where it began before', async (_, ops, found) => {
      await writeYear(opened.store)
      await mustCommit(opened.store, ...ops)
      expect((await openWorkBefore(opened.store.read, beforeMs)).join()).toMatch(found)
    })

    test('a call that is refunded after its entries were read keeps its charge', async () => {
      await writeYear(opened.store)
      const refunding = async (fold: EntryFold) => {
        if (fold.account === 'ada') await mustCommit(opened.store, refund(oldRequest))
        await opened.store.foldEntries(fold)
      }
      const meanwhile = compactLedger({ ...opened.store, foldEntries: refunding }, beforeMs)
      await expect(meanwhile).rejects.toMatchObject({ kind: refusedAs })
      await compactLedger(opened.store, beforeMs)
      const left = (await entries()).filter(({ request }) => request === oldRequest)
      expect(left.map(({ kind }) => kind)).toEqual(['CHARGE', 'CHARGE', 'REFUND'])
      expect(await auditNow()).toMatchObject({ ok: true, findings: [], driftMicroUsd: 0n })
    })

    test('a fold that does not add up is refused, and so is every other way to delete an entry', async () => {
      await writeYear(opened.store)
      const was = await entries()
      const folds: EntryFold[] = []
      const watching = { ...opened.store, foldEntries: async (fold: EntryFold) => void folds.push(fold) }
      await compactLedger(watching, beforeMs)
      const [fold] = folds
      if (!fold) throw new Error('There is something to fold.')
      const changed = (change: (entry: EntryFold['entries'][number]) => object): EntryFold => ({
        ...fold,
        entries: fold.entries.map((entry, index) => (index ? entry : { ...entry, ...change(entry) })),
      })
      const bad: EntryFold[] = [
        changed(({ amount, units }) => ({ amount: amount + 1n, units })),
        { ...fold, entries: fold.entries.slice(1) },
        { ...fold, count: fold.count + 1 },
        { ...fold, lastSeq: fold.lastSeq + 1 },
        { ...fold, account: 'bob' },
      ]
      for (const each of bad) await expect(opened.store.foldEntries(each)).rejects.toMatchObject({ kind: refusedAs })
      expect(await entries()).toEqual(was)
      await opened.store.foldEntries(fold)
      await expect(opened.store.foldEntries(fold)).rejects.toMatchObject({ kind: refusedAs })
      await expect((async () => opened.tamper('DELETE FROM entry'))()).rejects.toThrow('append-only')
      await expect((async () => opened.tamper('UPDATE entry SET amount = 1'))()).rejects.toThrow('append-only')
    })
  })
}
