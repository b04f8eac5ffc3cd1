import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type Acknowledged, balancesText, databaseName } from './acknowledged.ts'

/** What is wrong with a store that a loss of power left, a sentence each; none where all is well. */
export async function checkImage(folder: string, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const path = join(folder, databaseName)
  try {
    return [...(await checkAcknowledged(path, acknowledged)), ...(await checkBooks(path)), ...checkWhole(path)]
  } catch (error) {
    return [`The store cannot be used any more: ${error instanceof Error ? error.message : error}`]
  }
}

/** The real store opens it, knows every acknowledged unit with the balances that were told, and goes on. */
async function checkAcknowledged(path: string, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const store = await openSqliteStore({ path })
  try {
    const wrong: string[] = []
    // Units that would be refused, were they new: only what was committed before answers again.
    const outcomes = await store.commit(acknowledged.map(({ id }) => ({ id, ops: [{ op: 'release', hold: 'none' }] })))
    for (const [index, { id, balances }] of acknowledged.entries()) {
      const outcome = outcomes[index]
      if (!outcome?.ok) wrong.push(`Unit ${id} was acknowledged, and it is not there.`)
      else if (balancesText(outcome.balances) !== balances) {
        wrong.push(`Unit ${id} told ${balances}, and now ${balancesText(outcome.balances)}.`)
      }
    }
    const id = `${uuidV7(Date.now())}/next`
    const [next] = await store.commit([{ id, ops: [{ op: 'nonce', key: id, expiresAtMs: Date.now() }] }])
    if (!next?.ok) wrong.push(`The store takes nothing more: ${next?.why}.`)
    return wrong
  } finally {
    await store.close()
  }
}

async function checkBooks(path: string): Promise<string[]> {
  const { findings } = await audit(path)
  return findings.map(({ sentence }) => `The audit finds: ${sentence}`)
}

/** By the name of a unit, the stories that show its effect. A unit and its effect are there together or not at all. */
const effects: Record<string, string> = {
  hold: `SELECT id FROM hold UNION SELECT id FROM ended_hold
    EXCEPT SELECT request FROM job`,
  capture: `SELECT id FROM ended_hold WHERE how = 'captured' EXCEPT SELECT request FROM job`,
  release: `SELECT id FROM ended_hold WHERE how = 'released'`,
  accept: `SELECT request FROM job`,
  complete: `SELECT request FROM job WHERE state = 'completed'`,
  fail: `SELECT request FROM entry WHERE kind = 'REFUND'`,
  claim: `SELECT id FROM payment`,
  credit: `SELECT id FROM payment WHERE state = 'credited'`,
  nonce: `SELECT id FROM nonce WHERE id NOT LIKE '%/next'`,
}

function checkWhole(path: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const ids = (sql: string) =>
      new Set(
        database
          .prepare(sql)
          .all()
          .map(row => String(Object.values(row)[0])),
      )
    return Object.entries(effects).flatMap(([name, sql]) => {
      const committed = ids(`SELECT substr(id, 1, instr(id, '/') - 1) FROM unit WHERE id LIKE '%/${name}'`)
      const shown = ids(sql)
      const half = [...committed].filter(id => !shown.has(id)).concat([...shown].filter(id => !committed.has(id)))
      return half.map(id => `Of unit ${id}/${name} there is a half: ${committed.has(id) ? 'the unit' : 'its effect'}.`)
    })
  } finally {
    database.close()
  }
}
