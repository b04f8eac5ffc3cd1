import type { Mutant } from './mutant.ts'

const store = 'src/ledger/store/sqlite'
const contract = (title: string) => ({ tests: 'test/ledger/store/sqlite.test.ts', title })
const recovery = 'src/ledger/charges/recover-holds.ts'
const sets = `${store}/end-dead-holds.ts`
const kills = (says: string) => ({ faults: ['--kills', '2', '--seed', '1'], says })

export const ledgerMutants: readonly Mutant[] = [
  {
    name: 'drop the availability check',
    patches: [
      {
        file: `${store}/apply-holds.ts`,
        find: `      if (balance.posted - balance.held < split.usd) return 'insufficient_funds'
      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.open(`,
        replace: `      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.open(`,
      },
    ],
    check: contract('refuses as insufficient_funds'),
  },
  {
    name: 'acknowledge before the commit',
    patches: [
      {
        file: `${store}/batch.ts`,
        find: '    begin.run()\n',
        replace: '    if (database.isTransaction) commit.run()\n    begin.run()\n',
      },
      {
        file: `${store}/batch.ts`,
        find: '      commit.run()\n      return outcomes',
        replace: '      return outcomes',
      },
    ],
    check: { tests: 'test/ledger/store/sqlite-process.test.ts', title: 'kill -9 loses nothing' },
  },
  {
    name: 'synchronous OFF',
    patches: [
      { file: `${store}/connection.ts`, find: 'synchronousFull = 2', replace: 'synchronousFull = 0' },
      { file: `${store}/connection.ts`, find: 'PRAGMA synchronous = FULL;', replace: 'PRAGMA synchronous = OFF;' },
    ],
    check: { faults: ['--power', '20', '--seed', '1'] },
  },
  {
    name: 'capture beyond the hold',
    patches: [
      {
        file: `${store}/apply-entries.ts`,
        find: `      if (charged > hold.amount) return 'over_hold'\n`,
        replace: '',
      },
    ],
    check: contract('refuses as over_hold'),
  },
  {
    name: 'lose the extension',
    patches: [
      {
        file: `${store}/apply-holds.ts`,
        find: '      holds.grow(hold, op.amount, split.staking)\n',
        replace: '      holds.grow(hold, 0n, 0n)\n',
      },
    ],
    check: contract('an extension grows'),
  },
  {
    name: 'refund twice',
    patches: [
      {
        file: `${store}/apply-entries.ts`,
        find: `      if (refExists.get(entryRefs.refund(request))) return 'refunded'\n`,
        replace: '',
      },
      {
        file: `${store}/apply-entries.ts`,
        find: `ref: entryRefs.refund(request) } as const`,
        replace: `ref: \`\${entryRefs.refund(request)}:\${work.unit}\` } as const`,
      },
    ],
    check: contract('refuses as refunded'),
  },
  {
    name: 'release without compare-and-set',
    patches: [
      {
        file: `${store}/apply-records.ts`,
        find: `    WHERE id = ?13 AND state = ?14 AND fence = ?15\`,`,
        replace: `    WHERE id = ?13 AND ?14 IS NOT NULL AND ?15 >= 0\`,`,
      },
    ],
    check: contract('refuses as payment_moved'),
  },
  {
    name: 'recover unexpired leases',
    patches: [
      {
        file: recovery,
        find: 'guard: { onlyIfExpired: { atMs } }',
        replace: 'guard: {}',
      },
      { file: recovery, find: "    .where('lease_until_ms', '<', atMs)\n", replace: '' },
    ],
    check: { tests: 'test/service/recovery.test.ts' },
  },
  {
    // At the prices of these streams, 20 units make whole micro-USD: each line still rounds to its amount, so the audit
    // has nothing to say, and only what the checkpoints said can show it.
    name: 'recovery charges twenty units more than the checkpoint',
    patches: [
      {
        file: sets,
        find: 'CAST(owing.value ->> 1 AS INTEGER)',
        replace: '20 + CAST(owing.value ->> 1 AS INTEGER)',
      },
      {
        file: sets,
        find: 'CAST(owing.value ->> 3 AS INTEGER)',
        replace: 'CAST(owing.value ->> 3 AS INTEGER) + 20 * CAST(owing.value ->> 2 AS INTEGER) / 1000000',
      },
    ],
    check: kills('by its last checkpoint, and recovery charged'),
  },
  {
    name: 'recovery ignores the checkpoint',
    patches: [{ file: sets, find: `coalesce(json_array_length(owed, '$[2]'), 0)`, replace: '0' }],
    check: kills('by its last checkpoint, and recovery charged 0'),
  },
  {
    name: 'no recovery at start',
    patches: [{ file: recovery, find: 'if (!store.soleOwner)', replace: `if (!store.soleOwner || owner !== '')` }],
    check: kills('is still open after the next start'),
  },
  {
    name: 'nonce not stored',
    patches: [
      {
        file: `${store}/apply-records.ts`,
        find: `      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null`,
        replace: `      return insertNonce === null || op.key === '' ? 'nonce_used' : null`,
      },
    ],
    check: contract('refuses as nonce_used'),
  },
  {
    name: 'skip the uniqueness of the payment key',
    patches: [
      {
        file: `${store}/apply-records.ts`,
        find: `      if (paymentExists.get(payment)) return 'payment_exists'\n`,
        replace: '      if (paymentExists === null) return null\n',
      },
      {
        file: `${store}/apply-records.ts`,
        find: '    `INSERT INTO payment (id,',
        replace: '    `INSERT OR REPLACE INTO payment (id,',
      },
    ],
    check: contract('refuses as payment_exists'),
  },
]
