import type { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { openState } from '#wallet/records/state.ts'
import { temporaryFolder } from './open-agent.ts'

const looks: [what: string, look: (rows: ReceiptRows) => unknown, plan: RegExp][] = [
  ['of a service', rows => rows.list(5, 'https://x.example'), /^SEARCH .* INDEX charge_receipts_of_service \(service=/],
  ['of all services', rows => rows.list(5), /^SCAN .* USING INDEX charge_receipts_by_time$/],
  ['of a call', rows => rows.ofCall('call'), /^SEARCH .* INDEX charge_receipts_by_call/],
  ['to be checked', rows => rows.unchecked('https://x.example', 5), /^SEARCH .* \(service=/],
  ['refused', rows => rows.hasRefused('https://x.example'), /^SEARCH .* \(service=/],
]

test.each(looks)('receipts %s are found by an index, however many there are', (_what, look, plan) => {
  const state = openState(temporaryFolder())
  const asked: string[] = []
  const noting = (db: DatabaseSync) =>
    new Proxy(db, {
      get(target, name) {
        if (name !== 'prepare') return Reflect.get(target, name, target)
        return (sql: string) => {
          asked.push(sql)
          return target.prepare(sql)
        }
      },
    })
  try {
    look(new ReceiptRows({ ...state, decide: run => state.decide(db => run(noting(db))) }))
    const plans = state.decide(db => asked.flatMap(sql => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()))
    expect(plans.map(({ detail }) => detail)[0]).toMatch(plan)
  } finally {
    state.close()
  }
})
