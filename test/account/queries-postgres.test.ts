import { expect, onTestFinished, test } from 'vitest'
import { AccountQueries } from '#account/queries/account-queries.ts'
import type { Ask, QueryName } from '#account/queries/answers.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs } from '#contract/time.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { account, budget, customer, hold, key, linesOf, nowMs, topUp, unit } from '../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'
import { openSchemaStore } from '../postgres/postgres-store.ts'
import { withPostgres } from '../postgres/with-postgres.ts'

const models = ['demo-chat', 'demo-image', 'demo-video', 'demo-speech', 'demo-music', 'demo-embed', 'demo-search']
const owners = ['ada', 'bert', 'cleo'] as const
const keysOf = (owner: string) => [null, `${owner}-admin`, `${owner}-plain`]
const days = 75

/** The same units for both stores: calls with odd amounts in three months, refunds, write-offs, calls in flight. */
function history(): Unit[] {
  const units: Unit[] = owners.map(owner =>
    unit(
      account(owner),
      customer({ name: `Name of ${owner}`, email: `${owner}@example.org` }, owner),
      key(`${owner}-admin`, `hash of ${owner}-admin`, owner, budget(90_000_000n)),
      key(`${owner}-plain`, `hash of ${owner}-plain`, owner, budget(5_000_000n, null, 'month')),
      topUp(50_000_000n, `payment of ${owner}`, owner),
    ),
  )
  for (let day = days; day >= 0; day--)
    for (const [place, owner] of owners.entries())
      for (let call = 0; call <= (day + place) % 3; call++) units.push(...oneCall(owner, day, call))
  for (const owner of owners) units.push(unit(hold(`open-${owner}`, 4_321n, owner), hold(`more-${owner}`, 99n, owner)))
  return units
}

function oneCall(owner: string, day: number, call: number): Unit[] {
  const request = `${owner}-${day}-${call}`
  const atMs = nowMs - day * dayMs - call * hourMs
  const by = keysOf(owner)[(day + call) % 3] ?? null
  const amounts = [BigInt(1_013 + day * 7 + call), BigInt(((day * 5 + call) % 11) * 907)]
  const model = models[(day + call * 3) % models.length] ?? ''
  const held: Op = {
    ...{ op: 'hold', hold: request, account: owner, amount: microUsd(20_000n), atMs },
    ...{ lease: { owner: 'test', untilMs: atMs + hourMs } },
    ...(by === null ? {} : { key: { key: by, ...periodStarts(atMs) } }),
  }
  const loss = day % 13 === 5 ? { writeOff: microUsd(77n) } : {}
  const charged: Op = { op: 'capture', hold: request, request, model, lines: linesOf(amounts), ...loss, atMs }
  const units = [unit(held, charged)]
  if (day % 9 === 4) units.push(unit({ op: 'refund', request, reason: 'It was wrong', atMs: atMs + 1 }))
  return units
}

const scopes = owners.flatMap(owner => keysOf(owner).map(each => ({ account: owner, key: each })))

/** Asks everything that the page may ask, and reads each list to its end. */
async function allAnswers(ask: Ask): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  const note = async <Name extends QueryName>(name: Name, query: Parameters<typeof ask<Name>>[1]) => {
    const answer = await ask(name, query)
    answers[`${name} ${JSON.stringify(query)}`] = answer
    return answer
  }
  for (const scope of scopes) {
    for (const days of [1, 7, 30, 90]) await note('spend', { scope, days })
    await note('holds', { scope })
    for (const filter of [{}, { model: 'demo-chat' }, { from: '2026-12-01', to: '2026-12-31' }, { key: 'ada-plain' }]) {
      let after: string | null | undefined
      while (after !== null) {
        const page = await note('requests', { scope, filter: after === undefined ? filter : { ...filter, after } })
        after = page.next
      }
    }
    for (const id of ['ada-4-0', 'bert-5-1', 'open-cleo', 'none']) await note('request', { scope, request: id })
  }
  for (const owner of owners) {
    for (const state of ['active', 'ended'] as const) await note('keys', { account: owner, filter: { state } })
    const { rows } = await note('invoices', { account: owner })
    for (const { month } of rows) await note('invoice', { account: owner, month })
  }
  return answers
}

withPostgres('the customers’ page', cluster => {
  test('answers every query from PostgreSQL as from SQLite, to the micro-USD', async () => {
    const units = history()
    const clock = { now: () => nowMs + hourMs }
    const postgres = await openSchemaStore(cluster())
    onTestFinished(() => postgres.dispose())
    const sqlite = await openTemporaryStore()
    onTestFinished(() => sqlite.dispose())
    for (const { store } of [sqlite, postgres])
      for (const [place, outcome] of (await store.commit(units)).entries())
        expect([units[place], outcome.ok]).toEqual([units[place], true])
    const queries = [
      new AccountQueries(`sqlite:${sqlite.path}`, { clock }),
      new AccountQueries(postgres.url, { clock, schema: postgres.schema }),
    ]
    for (const each of queries) onTestFinished(() => each.close())
    const [ofSqlite, ofPostgres] = await Promise.all(queries.map(each => allAnswers(each.ask)))
    expect(Object.keys(ofSqlite ?? {}).length).toBeGreaterThan(100)
    expect(ofPostgres).toEqual(ofSqlite)
  }, 120_000)
})
