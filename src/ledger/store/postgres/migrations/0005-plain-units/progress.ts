/**
 * What a batch has come to: the balances, one place an account, and, one place a unit, its outcome where it has been
 * applied, whether that was before this batch, and which operation was refused and why.
 */
const progress = `CREATE TYPE progress AS (
  known text[], posted bigint[], held bigint[], outcomes text[], again boolean[], ops int[], whys text[]
)`

export const progressType = [progress]
