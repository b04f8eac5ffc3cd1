/** The checks of a running ledger, slice by slice, and the counts and limits of an audit. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { audit } from '#ledger/audit/audit.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { Findings } from '#ledger/audit/findings.ts'
import { LedgerWatch, lookOverAccounts, lookOverEntries, newestEntries } from '#ledger/ledger-watch.ts'
import { account, capture, commitOps, grant, hold, ledger, mustCommit, unit } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { TestClock } from '../open-service.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
beforeEach(async () => {
  opened = await openTemporaryStore()
})
afterEach(() => opened.dispose())

const name = (number: number) => `customer:${`${number}`.padStart(4, '0')}`

/** So many accounts with one entry each. */
const people = (count: number) =>
  opened.store.commit(
    Array.from({ length: count }, (_, number) =>
      unit(account(name(number)), grant(1n, `grant:${number}`, name(number))),
    ),
  )

const changed = (table: string, id: string) =>
  opened.tamper(`DROP TRIGGER IF EXISTS entry_is_never_updated; UPDATE ${table} WHERE ${id}`)

describe('accounts are looked over', () => {
  test('to the end where they are fewer than a slice', async () => {
    await people(2)
    expect(await lookOverAccounts(opened.store, '')).toEqual({ breach: null, next: null })
    expect(await lookOverEntries(opened.store, 0)).toEqual({ breach: null, next: 2 })
    expect(await lookOverEntries(opened.store, 2)).toEqual({ breach: null, next: null })
  })

  test('five hundred at once, and the rest after them', async () => {
    await people(501)
    changed('account SET posted = posted + 1', `id = '${name(500)}'`)
    const first = await lookOverAccounts(opened.store, '')
    expect(first).toEqual({ breach: null, next: name(499) })
    expect(await lookOverAccounts(opened.store, first.next ?? '')).toMatchObject({ breach: { account: name(500) } })
    changed('entry SET posted_after = posted_after + 1', 'seq = 501')
    expect(await lookOverEntries(opened.store, 0)).toEqual({ breach: null, next: 500 })
    expect(await lookOverEntries(opened.store, 500)).toMatchObject({ breach: { account: name(500) } })
    expect([await newestEntries(opened.store, 500), await newestEntries(opened.store, 600)]).toEqual([1, 0])
  })

  const balance = 'The balance of an account differs from the sum of its entries.'
  const holds = 'The held amount of an account differs from the sum of its open holds.'
  const wrong: [rule: string, sql: string, sentence: string][] = [
    ['more than its entries left', 'UPDATE account SET posted = posted + 1', balance],
    ['less than its entries left', 'UPDATE account SET posted = posted - 1', balance],
    ['more is held than its holds say', 'UPDATE account SET held = held + 1', holds],
    ['less is held than its holds say', 'UPDATE account SET held = held - 1', holds],
  ]
  test.each(wrong)(
    'an account with %s is a breach, and is named to the operator alone',
    async (_rule, sql, sentence) => {
      await mustCommit(opened.store, account('ada'), grant(10n), hold('h', 4n))
      expect((await lookOverAccounts(opened.store, '')).breach).toBeNull()
      opened.tamper(sql)
      expect((await lookOverAccounts(opened.store, '')).breach).toEqual({ account: 'ada', sentence })
    },
  )

  test.each([
    ['more is held than it has', 11n],
    ['less than nothing is held', -1n],
  ])('an account whose %s is below zero, even if its holds add up to it', async (_rule, held) => {
    await mustCommit(opened.store, account('ada'), grant(10n), hold('h', 4n))
    const unchecked = 'PRAGMA ignore_check_constraints = ON'
    opened.tamper(`${unchecked}; UPDATE hold SET amount = ${held}; UPDATE account SET held = ${held}`)
    const breach = { account: 'ada', sentence: 'An account is below zero.' }
    expect((await lookOverAccounts(opened.store, '')).breach).toEqual(breach)
  })

  test('one that holds exactly what it has is sound', async () => {
    await mustCommit(opened.store, account('ada'), grant(10n), hold('h', 10n))
    expect((await lookOverAccounts(opened.store, '')).breach).toBeNull()
  })

  test('the balance is what the last entry left, not an earlier one', async () => {
    await mustCommit(opened.store, account('ada'), grant(10n), hold('h', 10n))
    await mustCommit(opened.store, capture('h', [4n, 3n]))
    expect((await lookOverAccounts(opened.store, '')).breach).toBeNull()
    expect((await lookOverEntries(opened.store, 0)).breach).toBeNull()
    expect((await lookOverEntries(opened.store, 2)).breach).toBeNull()
  })
})

describe('a watch', () => {
  const watchOf = () => {
    const [told, facts]: [string[], object[]] = [[], []]
    const error = (of: object, message: string) => {
      told.push(message)
      facts.push(of)
    }
    const log = { info() {}, warn() {}, error }
    return { told, facts, watch: new LedgerWatch({ store: opened.store, clock: new TestClock(), log }) }
  }
  const closed = 'The ledger does not add up; new paid calls are refused until it does.'

  test('of a ledger without a recorded state reports it as open', async () => {
    expect(await watchOf().watch.state()).toEqual({ state: 'open', reason: '' })
  })

  test('goes round all accounts, one slice a look, and begins again', async () => {
    await people(501)
    const { watch } = watchOf()
    await watch.lookOver()
    changed('account SET posted = posted + 1', `id = '${name(0)}'`)
    await watch.lookOver()
    expect(await watch.state()).toMatchObject({ state: 'open' })
    await watch.lookOver()
    expect(await watch.state()).toMatchObject({ state: 'read_only' })
  })

  test('looks at what is new alone, once it has seen what was there', async () => {
    await people(2)
    const { watch, facts } = watchOf()
    await watch.lookOverAtStart()
    changed('entry SET posted_after = posted_after', 'seq = 1')
    await mustCommit(opened.store, grant(5n, 'grant:more', name(0)))
    changed('entry SET posted_after = posted_after + 1', 'seq = 3')
    await watch.lookOver()
    const reason = 'The balance after an entry does not follow from the entry before it.'
    expect(await watch.state()).toEqual({ state: 'read_only', reason })
    expect(facts).toEqual([{ account: name(0), reason }])
  })

  test('closes at a start what does not add up, and names the account to the operator alone', async () => {
    await people(2)
    changed('account SET posted = posted + 1', `id = '${name(1)}'`)
    const { watch, told, facts } = watchOf()
    await watch.lookOverAtStart()
    const reason = 'The balance of an account differs from the sum of its entries.'
    expect(await watch.state()).toEqual({ state: 'read_only', reason })
    expect(told).toEqual([closed, 'The ledger is read-only; once it adds up, `farebox ledger reopen` reopens it.'])
    expect(facts).toEqual([{ account: name(1), reason }, { reason }])
  })

  test('looks at a start at entries that were there before it', async () => {
    await people(2)
    changed('entry SET posted_after = posted_after + 1', 'seq = 1')
    changed('account SET posted = posted + 1', `id = '${name(0)}'`)
    const { watch } = watchOf()
    await watch.lookOverAtStart()
    expect(await watch.state()).toMatchObject({
      reason: 'The balance after an entry does not follow from the entry before it.',
    })
  })

  test('closes again what was opened meanwhile', async () => {
    const { watch } = watchOf()
    await watch.close('One reason.')
    await watch.reopen()
    await watch.close('Another reason.')
    expect(await watch.state()).toEqual({ state: 'read_only', reason: 'Another reason.' })
  })

  test('looks over ten slices at a start, and no more', async () => {
    opened.tamper(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO account (id, kind, posted, held, created_at_ms)
        SELECT printf('customer:%04d', i), 'customer', i = 5000, 0, 1 FROM n`)
    const { watch, told } = watchOf()
    await watch.lookOverAtStart()
    expect([await watch.state(), told]).toEqual([{ state: 'open', reason: '' }, []])
    await watch.lookOver()
    expect([(await watch.state()).state, told]).toEqual(['read_only', [closed]])
  })

  test('closes the ledger once, whichever process finds the error, and logs it once', async () => {
    const { watch, told } = watchOf()
    await Promise.all([watch.close('One reason.'), watch.close('Another reason.')])
    await watch.close('A third reason.')
    expect([await watch.state(), told]).toEqual([{ state: 'read_only', reason: 'One reason.' }, [closed]])
  })

  test('that starts over a closed ledger logs that, and that it must be reopened by hand', async () => {
    await mustCommit(opened.store, ledger('read_only'))
    const { watch, told } = watchOf()
    await watch.lookOverAtStart()
    expect(told).toEqual(['The ledger is read-only; once it adds up, `farebox ledger reopen` reopens it.'])
  })

  test('opens only where all of the ledger adds up, however far it had seen', async () => {
    await people(501)
    const { watch } = watchOf()
    await watch.lookOver()
    await watch.close('By hand.')
    changed('account SET posted = posted + 1', `id = '${name(500)}'`)
    const breach = { state: 'read_only', reason: 'The balance of an account differs from the sum of its entries.' }
    expect(await watch.reopen()).toEqual(breach)
    changed('account SET posted = posted - 1', `id = '${name(500)}'`)
    changed('entry SET posted_after = posted_after + 1', 'seq = 1')
    expect(await watch.reopen()).toMatchObject({ state: 'read_only' })
    changed('entry SET posted_after = posted_after - 1', 'seq = 1')
    expect(await watch.reopen()).toEqual({ state: 'open', reason: '' })
    expect(await watch.state()).toEqual({ state: 'open', reason: 'Reopened by the operator.' })
    expect(await commitOps(opened.store, hold('h', 1n, name(0)))).toMatchObject({ ok: true })
  })
})

describe('an audit', () => {
  const audio = { ok: true, findings: [], findingsLeftOff: 0, driftMicroUsd: 0n }

  test('counts what there is, of each kind', async () => {
    await mustCommit(opened.store, account('ada'), grant(100n), hold('h', 10n), hold('open', 1n))
    await mustCommit(opened.store, capture('h', [12n], 'r', { writeOff: 2n }))
    const clock = new TestClock(1_800_000_000_000)
    expect(await audit(opened.path, { clock })).toEqual({
      ...audio,
      counts: {
        ...{ accounts: 1, entries: 3, topUps: 0, grants: 1, charges: 1, refunds: 0, staking: 0, writeOffs: 1 },
        ...{ openHolds: 1, payments: 0, jobs: 0, claims: 0 },
      },
      systemMicroUsd: { 'system:grant': -100n, 'system:revenue': 12n, 'system:writeoff': -2n },
    })
  })

  const leases: [rule: string, ms: number, findings: number][] = [
    ['two minutes ago is not a finding', 120_000, 0],
    ['longer ago is one', 120_001, 1],
  ]
  test.each(leases)('a hold whose lease ended %s', async (_rule, ms, findings) => {
    const untilMs = 1_800_000_000_000
    await mustCommit(opened.store, account('ada'), grant(100n), hold('h', 10n, 'ada', { owner: 'one', untilMs }))
    const report = await audit(opened.path, { clock: new TestClock(untilMs + ms) })
    expect([report.ok, report.findings.map(({ kind }) => kind)]).toEqual([
      findings === 0,
      findings === 0 ? [] : ['hold_expired'],
    ])
    const strict = await audit(opened.path, { clock: new TestClock(untilMs + ms), expiredHoldMs: 0 })
    expect(strict.findings).toHaveLength(1)
  })

  test('leaves open a reader that it did not open', async () => {
    await mustCommit(opened.store, account('ada'), grant(100n))
    const reader = sqliteAuditReader(opened.path)
    expect(await audit(reader)).toMatchObject(audio)
    expect(await audit(reader)).toMatchObject(audio)
    await reader.close()
  })

  test('of a file that is not there says which', () => {
    expect(() => sqliteAuditReader('/nowhere/farebox.db')).toThrow('There is no database at /nowhere/farebox.db')
  })

  test('sees one moment, whatever is written meanwhile', async () => {
    await mustCommit(opened.store, account('ada'), grant(100n))
    const reader = sqliteAuditReader(opened.path)
    const count = () => [...(reader.rows('SELECT count(*) AS n FROM entry') as Iterable<{ n: bigint }>)]
    expect(count()).toEqual([{ n: 1n }])
    await mustCommit(opened.store, grant(5n, 'grant:meanwhile'))
    expect(count()).toEqual([{ n: 1n }])
    await reader.close()
  })

  test('lists a thousand findings and counts the rest; drift adds up as magnitudes', () => {
    const findings = new Findings()
    for (let count = 0; count < 1_002; count++) findings.add('held_differs', `${count}`, 'Held differs.')
    for (const difference of [5n, -7n, 0n]) findings.addDrift(difference)
    expect([findings.listed.length, findings.leftOff, findings.driftMicroUsd]).toEqual([1_000, 2, 12n])
    expect(findings.listed.at(-1)?.subject).toBe('999')
    expect(microUsd(findings.driftMicroUsd)).toBe(12n)
  })
})
