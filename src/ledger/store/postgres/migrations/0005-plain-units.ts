import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { commitFunctions } from './0005-plain-units/commit.ts'
import { factFunctions } from './0005-plain-units/facts.ts'
import { otherFunctions } from './0005-plain-units/others.ts'
import { plainFunctions } from './0005-plain-units/plain.ts'
import { progressType } from './0005-plain-units/progress.ts'

/**
 * Most units take a hold or end one, and neither staking credit nor a budget has a say. Those are looked up, judged and
 * written for a whole batch at once; all others go through the functions of their operations, as before. The function
 * that took batches until now stays, for a process that still runs the release before.
 */
export const plainUnits: Migration = {
  async up(database: Kysely<unknown>) {
    const all = [...progressType, ...factFunctions, ...plainFunctions, ...otherFunctions, ...commitFunctions]
    for (const statement of all) await sql.raw(statement).execute(database)
  },
}
