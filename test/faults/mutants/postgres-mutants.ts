import type { Mutant, Patch } from './mutant.ts'

const functions = 'src/ledger/store/postgres/functions'

/** The functions judge every unit beside SQLite's rules, which they have to repeat to the last answer and row. */
const check = { tests: 'test/ledger/store/differential.test.ts' }

/** Where random units seldom come by. */
const contract = (title: string) => ({ tests: 'test/ledger/store/postgres.test.ts', title })

const mutant = (name: string, ...patches: Patch[]): Mutant => ({ name: `PostgreSQL: ${name}`, patches, check })

/** In the functions of single operations. */
const change = (file: string, find: string, replace: string): Patch => ({
  file: `${functions}/${file}.ts`,
  find,
  replace,
})

const without = (file: string, find: string): Patch => change(file, find, '')

const refuse = (condition: string, why: string): string =>
  `  IF ${condition} THEN answer.why := '${why}'; RETURN answer; END IF;\n`

const ofHolds: readonly Mutant[] = [
  mutant(
    'drop the availability check',
    without('holds', refuse('answer.posted - answer.held < amount - staking', 'insufficient_funds')),
  ),
  mutant(
    'drop the budget of a key',
    without('holds', refuse('usd_limit - coalesce(used_usd, 0) < amount - staking', 'over_budget')),
  ),
  mutant('hold for a key that was revoked', without('holds', ' OR caller.revoked_at_ms IS NOT NULL')),
  mutant('one open hold more than allowed', change('holds', '>= most_open THEN', '> most_open THEN')),
  mutant(
    'hold while the ledger is read-only',
    change('holds', `${refuse('is_read_only', 'read_only')}  IF most_open`, '  IF most_open'),
  ),
  mutant(
    'lose the extension',
    change('holds', 'SET amount = amount + more, staking_usd = staking_usd + staking', 'SET amount = amount'),
  ),
  {
    ...mutant(
      'extend beyond the credit',
      without('holds', refuse('answer.posted - answer.held < more - staking', 'insufficient_funds')),
    ),
    check: contract('an extension above the credit'),
  },
  {
    ...mutant(
      'extend beyond the budget of a key',
      without('holds', refuse('usd_limit - coalesce(used_usd, 0) < more - staking', 'over_budget')),
    ),
    check: contract('an extension above the budget'),
  },
  mutant("renew another's hold", without('holds', refuse('owned_by <> owner', 'not_owner'))),
  mutant(
    'recover unexpired leases',
    without('holds', refuse('open_hold.lease_until_ms > expired_at_ms', 'lease_live')),
  ),
  mutant('keep what a hold did not need', without('holds', '  answer.held := answer.held - usd_held;\n')),
]

const ofEntries: readonly Mutant[] = [
  mutant('capture beyond the hold', without('entries', refuse('charged > open_hold.amount', 'over_hold'))),
  mutant(
    'charge what recovery must leave alone',
    without('entries', refuse('open_hold.lease_until_ms > expired_at_ms', 'lease_live')),
  ),
  mutant(
    'charge what was written off',
    change('entries', 'charged bigint := total - write_off', 'charged bigint := total'),
  ),
  mutant(
    'forget the staking part of a charge',
    change('entries', 'staking := least(charged, open_hold.staking_usd);', 'staking := 0;'),
  ),
  mutant(
    'credit twice',
    without(
      'entries',
      `  IF EXISTS (SELECT FROM entry e WHERE e.ref = of_ref) THEN answer.why := 'ref_exists'; RETURN answer; END IF;\n`,
    ),
    change('entries', 'answer.posted, of_ref, 0,', "answer.posted, of_ref || '/' || unit_id, 0,"),
  ),
  mutant(
    'refund twice',
    change('entries', `WHERE e.ref = 'refund:' || of_request) THEN`, `WHERE e.ref = 'refund:') THEN`),
    change('entries', `'refund:' || of_request, 0,`, `'refund:' || of_request || '/' || unit_id, 0,`),
  ),
  mutant(
    'keep the staking part of what is refunded',
    change('entries', 'staking := coalesce(staking, 0);', 'staking := 0;'),
  ),
]

const ofOthers: readonly Mutant[] = [
  mutant(
    'give staking credit again that was spent',
    change('holds', 'granted - used_of_day(of_account, of_day_ms)', 'granted'),
  ),
  mutant(
    'forget what a key has spent',
    change(
      'holds',
      'held_usd = held_usd - usd_held, spent_usd = spent_usd + usd_spent,',
      'held_usd = held_usd - usd_held,',
    ),
  ),
  mutant(
    'release without compare-and-set',
    change('work', 'WHERE p.id = payment_id AND p.state = seen AND p.fence = seen_fence;', 'WHERE p.id = payment_id;'),
  ),
  {
    ...mutant(
      'move a job without its fence',
      change(
        'work',
        'WHERE id = job_id AND state = seen AND fence = seen_fence;',
        'WHERE id = job_id AND state = seen;',
      ),
    ),
    check: contract('a job at another fence'),
  },
  mutant(
    'end a claim that moved',
    change(
      'work',
      '        WHERE id = claim_id AND state = seen AND fence = seen_fence;\n    END IF;',
      '        WHERE id = claim_id;\n    END IF;',
    ),
  ),
  mutant('nonce not stored', without('accounts', `  IF NOT FOUND THEN answer.why := 'nonce_used'; END IF;\n`)),
]

/** In the functions that judge a run of plain holds, captures and releases in memory. */
const plainly = (name: string, { title, ...patch }: { title?: string; find: string; replace?: string }) => {
  const file = `${functions}/plain-units.ts`
  const made = mutant(`${name}, in a run of plain units`, { replace: '', ...patch, file })
  return title === undefined ? made : { ...made, check: contract(title) }
}

const ofPlainUnits: readonly Mutant[] = [
  plainly('drop the availability check', {
    find: "        WHEN posted[seat] - held[seat] < amounts[i] THEN 'insufficient_funds'\n",
    title: 'a hold above the credit',
  }),
  plainly('hold while the ledger is read-only', {
    find: "WHEN facts.read_only THEN 'read_only'",
    replace: "WHEN false THEN ''",
  }),
  plainly('one open hold more than allowed', {
    find: '>= most_open[i]',
    replace: '> most_open[i]',
    title: 'one hold more than the account',
  }),
  plainly('keep what a hold did not need', { find: 'held[seat] := held[seat] - freed[i];' }),
  plainly('hold for a key that was revoked', {
    find: ' AND k.revoked_at_ms IS NULL',
    title: 'a hold by a revoked key',
  }),
  plainly('recover unexpired leases', {
    find: "          WHEN h.lease_until_ms > op.expired_at_ms THEN 'lease_live'\n",
    title: 'recovering a hold whose lease lives',
  }),
  plainly('capture beyond the hold', {
    find: "          WHEN op.amount > h.amount THEN 'over_hold'\n",
  }),
  plainly('drop the budget of a key', { find: 'k.budget_period IS NULL AND ' }),
  plainly('forget the staking part of a charge', { find: 'h.staking_day_ms IS NULL AND ' }),
]

/** Mistakes in the rules that stand in PL/pgSQL, each of which stands in TypeScript as well. */
export const postgresMutants: readonly Mutant[] = [...ofHolds, ...ofEntries, ...ofOthers, ...ofPlainUnits]
