import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { applyRenew, endHold } from './0002-unit-functions/holds.ts'

/** What is freed and how long a lease lasts were read before the account was locked, so the row has to say the same still. */
const endHoldAsRead = endHold
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace(
    'DELETE FROM hold WHERE id = open_hold.id;',
    'DELETE FROM hold h WHERE h.id = open_hold.id AND h IS NOT DISTINCT FROM open_hold;',
  )
  .replace('has ended meanwhile', 'has moved meanwhile')

/** Whoever ends a lapsed hold has locked its account, reads the lease after that, and must not find it renewed later. */
const applyRenewLocked = applyRenew
  .replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')
  .replace('owned_by text;', 'owned_by text;\n  of_account text;')
  .replace('SELECT h.lease_owner INTO owned_by FROM', 'SELECT h.lease_owner, h.account INTO owned_by, of_account FROM')
  .replace('  UPDATE hold', '  PERFORM FROM account a WHERE a.id = of_account FOR NO KEY UPDATE;\n  UPDATE hold')

/**
 * A unit may name a hold that was not there yet when the accounts of its batch were locked, and that another process moves
 * before this one gets to its account: extended, and its extension would stay held for good; renewed, and it would be
 * ended as lapsed.
 */
export const movedHolds: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [endHoldAsRead, applyRenewLocked]) await sql.raw(statement).execute(database)
  },
}
