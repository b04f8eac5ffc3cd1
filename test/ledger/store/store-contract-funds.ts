/** The part of the contract that is about sources of funds, budgets, checkpoints, claims and the ledger's state. */
import { expect, test } from 'vitest'
import type { Store } from '#ledger/store/store.ts'
import { type Op, readOwed } from '#ledger/store/units.ts'
import {
  account,
  budget,
  by,
  capture,
  checkpoint,
  claim,
  commitOps,
  covers,
  dayMs,
  extend,
  grant,
  hold,
  key,
  keyBudget,
  lease,
  ledger,
  linesOf,
  mustCommit,
  nowMs,
  refund,
  release,
  staked,
} from './sample-ops.ts'

export function fundsContract(opened: () => Store): void {
  const balances = async () => opened().read.selectFrom('account').select(['posted', 'held']).executeTakeFirstOrThrow()
  const days = () => opened().read.selectFrom('staking_credit').selectAll().orderBy('day_ms').execute()
  const uses = () => opened().read.selectFrom('key_use').selectAll().orderBy('start_ms').execute()
  const entries = async () => {
    const columns = ['kind', 'ref', 'line', 'effect', 'posted_after'] as const
    const rows = await opened().read.selectFrom('entry').select(columns).orderBy('seq').execute()
    return rows.map(({ kind, ref, line, effect, posted_after }) => [kind, `${ref}/${line}`, effect, posted_after])
  }

  test('a hold takes staking credit first, and a charge spends it first', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(10n, 'start'))
    const held = await commitOps(store, hold('h', 12n, 'ada', lease(), staked(5n)))
    expect(held).toMatchObject({ ok: true, balances: [{ posted: 10n, held: 7n }] })
    expect(await days()).toMatchObject([{ day_ms: 20_000 * dayMs, granted_usd: 5n, spent_usd: 0n, held_usd: 5n }])
    const charged = await commitOps(store, capture('h', [2n, 6n], 'r'))
    expect(charged).toMatchObject({ ok: true, balances: [{ posted: 7n, held: 0n }] })
    expect(await days()).toMatchObject([{ granted_usd: 5n, spent_usd: 5n, held_usd: 0n }])
    expect(await entries()).toEqual([
      ['GRANT', 'start/0', 10n, 10n],
      ['STAKING', 'staking:r/0', 5n, 15n],
      ['CHARGE', 'charge:r/0', -2n, 13n],
      ['CHARGE', 'charge:r/1', -6n, 7n],
    ])
  })

  test('staking credit that a charge does not need is free again, and is another one each day', async () => {
    const store = opened()
    await mustCommit(store, account(), hold('h', 5n, 'ada', lease(), staked(5n)), capture('h', [2n]))
    expect(await days()).toMatchObject([{ spent_usd: 2n, held_usd: 0n }])
    await mustCommit(store, hold('i', 3n, 'ada', lease(), staked(5n)), release('i'))
    await mustCommit(store, hold('j', 5n, 'ada', lease(), staked(5n, 20_001)))
    expect((await days()).map(row => [row.spent_usd, row.held_usd])).toEqual([
      [2n, 0n],
      [0n, 5n],
    ])
    expect(await balances()).toEqual({ posted: 0n, held: 0n })
  })

  test('an extension draws on the day of its hold', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(10n), hold('h', 3n, 'ada', lease(), staked(5n)))
    await mustCommit(store, extend('h', 6n))
    expect(await days()).toMatchObject([{ held_usd: 5n }])
    expect(await balances()).toEqual({ posted: 10n, held: 4n })
    const row = await store.read.selectFrom('hold').select(['amount', 'staking_usd']).executeTakeFirstOrThrow()
    expect(row).toEqual({ amount: 9n, staking_usd: 5n })
  })

  test('a refund gives staking credit back to its day, and the rest to the account', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(10n, 'start'), hold('h', 9n, 'ada', lease(), staked(5n)))
    await mustCommit(store, capture('h', [8n], 'r'), refund('r'))
    expect(await balances()).toEqual({ posted: 10n, held: 0n })
    expect(await days()).toMatchObject([{ spent_usd: 0n, held_usd: 0n }])
    expect((await entries()).slice(-2)).toEqual([
      ['REFUND', 'refund:r/0', 8n, 15n],
      ['STAKING', 'staking-back:r/0', -5n, 10n],
    ])
  })

  test('a write-off pays what the lines cost beyond the hold, and a refund leaves it out', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(10n, 'start'), hold('h', 6n))
    await mustCommit(store, capture('h', [4n, 5n], 'r', { writeOff: 3n }))
    expect(await balances()).toEqual({ posted: 4n, held: 0n })
    await mustCommit(store, refund('r'))
    expect(await entries()).toEqual([
      ['GRANT', 'start/0', 10n, 10n],
      ['WRITE_OFF', 'writeoff:r/0', 3n, 13n],
      ['CHARGE', 'charge:r/0', -4n, 9n],
      ['CHARGE', 'charge:r/1', -5n, 4n],
      ['REFUND', 'refund:r/0', 6n, 10n],
    ])
  })

  test('a key’s budget counts what is held and spent in its period, and starts anew with the next', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(10n)))
    await mustCommit(store, hold('h', 8n, 'ada', lease(), by('k')), capture('h', [5n], 'r'))
    await mustCommit(store, hold('i', 5n, 'ada', lease(), by('k')))
    expect(await uses()).toMatchObject([{ period: 'epoch', spent_usd: 5n, held_usd: 5n, spent_staking_usd: 0n }])
    const tomorrow = by('k', 20_001 * dayMs)
    await mustCommit(store, hold('j', 10n, 'ada', lease(), tomorrow))
    expect((await uses()).map(use => [use.start_ms, use.spent_usd, use.held_usd])).toEqual([
      [20_000 * dayMs, 5n, 5n],
      [20_001 * dayMs, 0n, 10n],
    ])
    await mustCommit(store, refund('r'), release('i'))
    expect((await uses())[0]).toMatchObject({ spent_usd: 0n, held_usd: 0n })
  })

  test.each([
    ['month', 19_990 * dayMs],
    ['lifetime', 0],
  ] as const)('a budget for a %s counts from its own start', async (period, startMs) => {
    const store = opened()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(10n, null, period)))
    await mustCommit(store, hold('h', 8n, 'ada', lease(), by('k')), capture('h', [5n]))
    expect(await uses()).toMatchObject([{ period, start_ms: startMs, spent_usd: 5n }])
    expect(await commitOps(store, hold('i', 6n, 'ada', lease(), by('k', 20_001 * dayMs)))).toMatchObject({ ok: false })
  })

  test('a key’s share of staking credit is a limit of its own; USD pays beyond it', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(null, 2n)))
    await mustCommit(store, hold('h', 10n, 'ada', lease(), { ...by('k'), ...staked(50n) }))
    expect(await uses()).toMatchObject([{ held_usd: 8n, held_staking_usd: 2n }])
    await mustCommit(store, capture('h', [10n], 'r'))
    expect(await uses()).toMatchObject([{ spent_usd: 8n, spent_staking_usd: 2n, held_usd: 0n, held_staking_usd: 0n }])
    expect(await balances()).toEqual({ posted: 92n, held: 0n })
  })

  test('a key whose budget was lifted spends what its account has, and what it held before still ends', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(5n)))
    await mustCommit(store, hold('h', 5n, 'ada', lease(), by('k')), keyBudget('k', null))
    await mustCommit(store, hold('i', 90n, 'ada', lease(), by('k')), capture('i', [90n]), capture('h', [5n]))
    expect(await uses()).toMatchObject([{ spent_usd: 5n, held_usd: 0n }])
    const rows = await store.read.selectFrom('entry').select(['api_key', 'budget_period']).where('kind', '=', 'CHARGE')
    expect(await rows.orderBy('seq').execute()).toEqual([
      { api_key: 'k', budget_period: null },
      { api_key: 'k', budget_period: 'epoch' },
    ])
  })

  test('a budget that is lowered within what its key has used in other periods is set', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(9n)))
    await mustCommit(
      store,
      hold('h', 8n, 'ada', lease(), by('k', 19_999 * dayMs)),
      hold('i', 3n, 'ada', lease(), by('k')),
    )
    await mustCommit(store, keyBudget('k', budget(3n), covers))
    expect(await commitOps(store, keyBudget('k', budget(2n), covers))).toMatchObject({ why: 'over_budget' })
    await mustCommit(store, keyBudget('k', budget(2n)))
  })

  test('a key gives a part of its budget to a new one, or neither changes', async () => {
    const store = opened()
    const limits = () => store.read.selectFrom('api_key').select(['id', 'budget_usd']).orderBy('id').execute()
    await mustCommit(store, account(), grant(100n), key('k', 'hash', 'ada', budget(5n)))
    const gives = (from: bigint, to: bigint) =>
      keyBudget('k', budget(to), { before: { budget: budget(from), expiresAtMs: null }, ...covers })
    await mustCommit(store, gives(5n, 3n), key('new', 'hash of new', 'ada', budget(2n)))
    const again = key('newer', 'hash of new', 'ada', budget(1n))
    expect(await commitOps(store, gives(3n, 2n), again)).toMatchObject({ why: 'key_exists' })
    const full = { ...key('newer', 'hash of newer', 'ada', budget(1n)), mostActive: 2 } as Op
    expect(await commitOps(store, gives(3n, 2n), full)).toMatchObject({ why: 'too_many_keys' })
    expect(await limits()).toEqual([
      { id: 'k', budget_usd: 3n },
      { id: 'new', budget_usd: 2n },
    ])
  })

  test('an account may have so many holds open at once; one that ends makes room', async () => {
    const store = opened()
    const slots = { mostOpen: 2 }
    await mustCommit(store, account(), grant(9n), hold('h', 1n, 'ada', lease(), slots))
    await mustCommit(store, hold('i', 1n, 'ada', lease(), slots))
    expect(await commitOps(store, hold('j', 1n, 'ada', lease(), slots))).toMatchObject({ why: 'too_many_open' })
    await mustCommit(store, release('h'), hold('j', 1n, 'ada', lease(), slots))
  })

  test('a checkpoint stays with the hold until the next one, and recovery may charge it', async () => {
    const store = opened()
    const owed = async () =>
      readOwed((await store.read.selectFrom('hold').select('owed').executeTakeFirst())?.owed ?? '')
    await mustCommit(store, account(), grant(9n), hold('h', 9n), checkpoint('h', [2n, 1n]))
    expect(await owed()).toEqual({ request: 'h', model: 'demo-chat', lines: linesOf([2n, 1n]) })
    await mustCommit(store, checkpoint('h', [4n], lease(nowMs + 5)))
    await mustCommit(store, { op: 'renew', hold: 'h', lease: lease(nowMs + 6) })
    expect(await owed()).toMatchObject({ lines: linesOf([4n]) })
    await mustCommit(store, capture('h', [4n], 'h', { onlyIfExpired: { atMs: nowMs + 6 } }))
    expect(await balances()).toEqual({ posted: 5n, held: 0n })
  })

  test('a claim is taken, renewed, ended with its answer, or given up', async () => {
    const store = opened()
    await mustCommit(store, account(), claim('c', null, 'running', 0, { lease: lease(1) }))
    await mustCommit(store, claim('c', 'running', 'running', 1, { lease: lease(2, 'two') }))
    await mustCommit(store, claim('c', 'running', 'done', 2, { answer: '{"status":200}', lease: null }))
    const row = await store.read.selectFrom('claim').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({ state: 'done', fence: 3, account: 'ada', request: 'request of c', lease_owner: null })
    const answers = () => store.read.selectFrom('claim_answer').selectAll().execute()
    expect(await answers()).toEqual([{ claim: 'c', answer: '{"status":200}' }])
    await mustCommit(store, claim('d', null, 'running', 0), claim('d', 'running', 'gone', 1))
    await mustCommit(store, claim('d', null, 'running', 0))
    expect(await answers()).toHaveLength(1)
  })

  test('an old claim is pruned with its answer, and never while its work runs', async () => {
    const store = opened()
    const cutMs = nowMs + 1
    const running = (id: string, untilMs: number) => claim(id, null, 'running', 0, { lease: lease(untilMs) })
    const done = claim('done', null, 'done', 0, { answer: '{}', lease: lease(cutMs) })
    await mustCommit(store, account(), running('lapsed', nowMs), claim('left', null, 'running', 0), done)
    await mustCommit(store, running('runs', cutMs))
    expect(await store.prune({ table: 'claim', createdBeforeMs: nowMs }, 9)).toBe(0)
    expect(await store.prune({ table: 'claim', createdBeforeMs: cutMs }, 9)).toBe(3)
    expect(await store.read.selectFrom('claim').select('id').execute()).toEqual([{ id: 'runs' }])
    expect(await store.read.selectFrom('claim_answer').select('claim').execute()).toEqual([])
  })

  test('what has begun may end while the ledger is read-only, money may come in, and it opens again', async () => {
    const store = opened()
    await mustCommit(store, account(), grant(9n), hold('h', 5n), hold('i', 2n), ledger('read_only'))
    await mustCommit(store, grant(1n), checkpoint('h', [1n]), capture('h', [3n], 'r'), release('i'), refund('r'))
    expect(await balances()).toEqual({ posted: 10n, held: 0n })
    const state = () => store.read.selectFrom('ledger_state').select(['state', 'reason', 'since_ms']).execute()
    expect(await state()).toEqual([{ state: 'read_only', reason: 'a test', since_ms: nowMs }])
    await mustCommit(store, ledger('open'), hold('j', 1n))
    expect(await state()).toMatchObject([{ state: 'open' }])
  })
}
