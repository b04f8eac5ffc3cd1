import type { DatabaseSync } from 'node:sqlite'
import { WalletRefusal } from '../terms/refusal.ts'

/** One step, released once and never changed: the next one mends it. */
export interface Migration {
  name: string
  sql: string
}

/** Brings one area's tables up to date, inside the caller's transaction. */
export function migrate(database: DatabaseSync, area: string, steps: readonly Migration[]): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS migrations (area TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (area, name)) STRICT',
  )
  const done = database
    .prepare('SELECT name FROM migrations WHERE area = ?')
    .all(area)
    .map(row => String(row.name))
  for (const step of stepsToDo(area, done, steps)) {
    database.exec(step.sql)
    database.prepare('INSERT INTO migrations (area, name) VALUES (?, ?)').run(area, step.name)
  }
}

/** Those that have not been done yet; throws where something newer has been. */
export function stepsToDo(area: string, done: readonly string[], steps: readonly Migration[]): readonly Migration[] {
  const unknown = done.find(name => !steps.some(step => step.name === name))
  if (unknown !== undefined) throw newer(area, unknown)
  return steps.filter(step => !done.includes(step.name))
}

const newer = (area: string, name: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'state',
    sentence: `The wallet's records were written by a newer farebox (${area}: ${name}).`,
    nextStep: 'Update farebox, or give it another data folder.',
  })
