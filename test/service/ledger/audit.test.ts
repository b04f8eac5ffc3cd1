import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { priceLines } from '#contract/money.ts'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { nowMs } from '../../ledger/store/sample-ops.ts'
import { tamperWith, temporaryFolder } from '../../ledger/store/sqlite-folder.ts'
import { damages, tokens, writeIntactLedger } from './damaged-ledger.ts'

const clock = { now: () => nowMs }

let folder: ReturnType<typeof temporaryFolder>
/** A sound ledger with one row of every kind. */
let audio: string
/** A copy of them, to be damaged. */
let path: string
let copies = 0

beforeAll(async () => {
  folder = temporaryFolder()
  audio = folder.path
  const store = await openSqliteStore({ path: audio })
  await writeIntactLedger(store)
  await store.close()
})
afterAll(() => folder.remove())
beforeEach(() => {
  path = join(folder.folder, `copy-${copies++}.db`)
  copyFileSync(audio, path)
})

test('a sound ledger: no finding, and every row counted', async () => {
  const report = await audit(path, { clock })
  expect(report).toMatchObject({ ok: true, findings: [], findingsLeftOff: 0, driftMicroUsd: 0n })
  expect(report.counts).toEqual({
    ...{ accounts: 3, entries: 18, topUps: 1, grants: 2, charges: 9, refunds: 2, staking: 3, writeOffs: 1 },
    ...{ openHolds: 2, payments: 1, jobs: 2, claims: 2 },
  })
  const revenue = priceLines(tokens).reduce((sum, amount) => sum + amount, 140n)
  expect(report.systemMicroUsd).toEqual({
    ...{ 'system:grant': -1_001_000n, 'system:usdc': -5_000_000n, 'system:revenue': revenue },
    ...{ 'system:staking': -40n, 'system:writeoff': -10n },
  })
})

test('ledger without anything count nothing', async () => {
  const empty = temporaryFolder()
  await (await openSqliteStore({ path: empty.path })).close()
  const report = await audit(empty.path, { clock })
  expect(report).toMatchObject({ ok: true, findings: [] })
  expect(report.counts).toEqual({
    ...{ accounts: 0, entries: 0, topUps: 0, grants: 0, charges: 0, refunds: 0, staking: 0, writeOffs: 0 },
    ...{ openHolds: 0, payments: 0, jobs: 0, claims: 0 },
  })
  empty.remove()
})

/** Takes the guards away that would stop the damage. */
const unlocked = `DROP TRIGGER entry_is_never_updated; DROP TRIGGER entry_is_never_deleted; DROP INDEX entry_once;
  PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0;`
describe('each damage to the ledger is found', () => {
  test.each(damages)('%s', async (_rule, sql, finds, driftMicroUsd) => {
    tamperWith(path, unlocked + sql)
    const report = await audit(path, { clock })
    expect([...new Set(report.findings.map(finding => finding.kind))]).toEqual(finds)
    expect(report).toMatchObject({ ok: finds.length === 0, driftMicroUsd })
  })
})

test('a sum by day that was changed is found', async () => {
  tamperWith(path, "UPDATE day_sum_row SET effect_usd = effect_usd + 1 WHERE kind = 'TOP_UP'")
  const { findings, ok } = await audit(path, { clock })
  expect([ok, findings.map(({ kind }) => kind)]).toEqual([false, ['day_sum_differs']])
})

test('an entry of an unknown kind counts as an entry, and under no kind', async () => {
  const { counts } = await audit(path, { clock })
  tamperWith(path, `${unlocked} UPDATE entry SET kind = 'ODD' WHERE kind = 'TOP_UP'`)
  expect((await audit(path, { clock })).counts).toStrictEqual({ ...counts, topUps: 0 })
})

test('a line is recomputed with the one rounding of its request', async () => {
  const pico = tokens.reduce((sum, { units, unitPricePicoUsd }) => sum + units * unitPricePicoUsd, 0n)
  expect(pico % 1_000_000n).not.toBe(0n)
  tamperWith(path, `${unlocked} UPDATE entry SET units = 1000000 WHERE request = 'chat' AND line = 2`)
  const { findings } = await audit(path, { clock })
  expect(findings.map(({ kind }) => kind)).toEqual(['charge_differs_from_price'])
  expect(findings[0]?.sentence).toMatch(/^Entry \S+ charged \d+ micro-USD; 1000000 units at 1 pico-USD make \d+\.$/)
})

test('a hold is listed once its lease ended long enough ago', async () => {
  const after = (ms: number) => audit(path, { clock: { now: () => nowMs + ms }, expiredHoldMs: 1_000 })
  expect((await after(1_000)).findings).toEqual([])
  expect((await after(1_001)).findings).toMatchObject([{ kind: 'hold_expired', subject: 'open' }])
})

test('findings beyond a thousand are counted', async () => {
  const numbers = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1080)'
  const row = "'h' || i, 'bob', 0, 'one', 0, 0 FROM n"
  const insert = `INSERT INTO hold (id, account, amount, lease_owner, lease_until_ms, created_at_ms) ${numbers} SELECT ${row}`
  tamperWith(path, insert)
  const report = await audit(path, { clock })
  expect(report.findings).toHaveLength(1_000)
  expect(report.findingsLeftOff).toBe(80)
})

test('a path without a database is one clear sentence', async () => {
  await expect(audit(`${path}.missing`)).rejects.toThrow(/^There is no database at .+; give the path/)
})
