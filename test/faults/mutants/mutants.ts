import { change, type Mutant, mutant } from './mutant.ts'
import { walletMutants } from './wallet-mutants.ts'

const payments = 'src/payments'
const store = 'src/ledger/store/sqlite'
const recovery = 'src/ledger/charges/recover-holds.ts'
const sets = `${store}/end-dead-holds.ts`
const contract = (title: string) => ({ tests: 'test/ledger/store/sqlite.test.ts', title })
const kills = (says: string) => ({ faults: ['--kills', '2', '--seed', '1'], says })

const ledgerMutants: readonly Mutant[] = [
  mutant(
    'drop the availability check',
    contract('refuses as insufficient_funds'),
    change(
      `${store}/apply-holds.ts`,
      `      if (balance.posted - balance.held < split.usd) return 'insufficient_funds'
      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.open(`,
      `      if (!funds.covers(split.usd, sources)) return 'over_budget'
      holds.open(`,
    ),
  ),
  mutant(
    'acknowledge before the commit',
    { tests: 'test/ledger/store/sqlite-process.test.ts', title: 'kill -9 loses nothing' },
    change(`${store}/batch.ts`, '    begin.run()\n', '    if (database.isTransaction) commit.run()\n    begin.run()\n'),
    change(`${store}/batch.ts`, '      commit.run()\n      return outcomes', '      return outcomes'),
  ),
  mutant(
    'synchronous OFF',
    { faults: ['--power', '20', '--seed', '1'] },
    change(`${store}/connection.ts`, 'synchronousFull = 2', 'synchronousFull = 0'),
    change(`${store}/connection.ts`, 'PRAGMA synchronous = FULL;', 'PRAGMA synchronous = OFF;'),
  ),
  mutant(
    'capture beyond the hold',
    contract('refuses as over_hold'),
    change(`${store}/apply-entries.ts`, `      if (charged > hold.amount) return 'over_hold'\n`),
  ),
  mutant(
    'lose the extension',
    contract('an extension grows'),
    change(
      `${store}/apply-holds.ts`,
      '      holds.grow(hold, op.amount, split.staking)\n',
      '      holds.grow(hold, 0n, 0n)\n',
    ),
  ),
  mutant(
    'refund twice',
    contract('refuses as refunded'),
    change(`${store}/apply-entries.ts`, `      if (refExists.get(entryRefs.refund(request))) return 'refunded'\n`),
    change(
      `${store}/apply-entries.ts`,
      `ref: entryRefs.refund(request) } as const`,
      `ref: \`\${entryRefs.refund(request)}:\${work.unit}\` } as const`,
    ),
  ),
  mutant(
    'release without compare-and-set',
    contract('refuses as payment_moved'),
    change(
      `${store}/apply-records.ts`,
      `    WHERE id = ?13 AND state = ?14 AND fence = ?15\`,`,
      `    WHERE id = ?13 AND ?14 IS NOT NULL AND ?15 >= 0\`,`,
    ),
  ),
  mutant(
    'recover unexpired leases',
    { tests: 'test/service/recovery.test.ts' },
    change(recovery, 'guard: { onlyIfExpired: { atMs } }', 'guard: {}'),
    change(recovery, "    .where('lease_until_ms', '<', atMs)\n"),
  ),
  mutant(
    // At the prices of these streams, 20 units make whole micro-USD: each line still rounds to its amount, so the audit
    // has nothing to say, and only what the checkpoints said can show it.
    'recovery charges twenty units more than the checkpoint',
    kills('by its last checkpoint, and recovery charged'),
    change(sets, 'CAST(owing.value ->> 1 AS INTEGER)', '20 + CAST(owing.value ->> 1 AS INTEGER)'),
    change(
      sets,
      'CAST(owing.value ->> 3 AS INTEGER)',
      'CAST(owing.value ->> 3 AS INTEGER) + 20 * CAST(owing.value ->> 2 AS INTEGER) / 1000000',
    ),
  ),
  mutant(
    'recovery ignores the checkpoint',
    kills('by its last checkpoint, and recovery charged 0'),
    change(sets, `coalesce(json_array_length(owed, '$[2]'), 0)`, '0'),
  ),
  mutant(
    'no recovery at start',
    kills('is still open after the next start'),
    change(recovery, 'if (!store.soleOwner)', `if (!store.soleOwner || owner !== '')`),
  ),
  mutant(
    'nonce not stored',
    contract('refuses as nonce_used'),
    change(
      `${store}/apply-records.ts`,
      `      return insertNonce.run(op.key, op.expiresAtMs).changes === 0 ? 'nonce_used' : null`,
      `      return insertNonce === null || op.key === '' ? 'nonce_used' : null`,
    ),
  ),
  mutant(
    'skip the uniqueness of the payment key',
    contract('refuses as payment_exists'),
    change(
      `${store}/apply-records.ts`,
      `      if (paymentExists.get(payment)) return 'payment_exists'\n`,
      '      if (paymentExists === null) return null\n',
    ),
    change(`${store}/apply-records.ts`, '    `INSERT INTO payment (id,', '    `INSERT OR REPLACE INTO payment (id,'),
  ),
]

const paymentMutants: readonly Mutant[] = [
  mutant(
    'settle in two commits',
    { tests: 'test/payments/top-up-crashes.test.ts' },
    change(
      `${payments}/top-ups/payment-rows.ts`,
      '      ...(linked === null ? openWalletAccount(wallet, atMs) : []),\n',
      '    ])\n    await this.#commit([\n      ...(linked === null ? openWalletAccount(wallet, atMs) : []),\n',
    ),
  ),
  mutant(
    'credit before settle',
    { tests: 'test/payments/top-up.test.ts' },
    change(
      `${payments}/top-ups/payment-driver.ts`,
      '    if (row) await this.#attempt(row, { isFirst: true, waits: true })',
      `    const amount = (await import('../payment/payment.ts')).amountOf(payment)
    if (row) await this.#rows.credit(row, payment, { state: 'landed', transaction: '0x', amount })
    if (row) await this.#facilitator.settle(payment)`,
    ),
  ),
  mutant(
    "credit the body's wallet",
    { tests: 'test/payments/body-wallet.test.ts' },
    change(
      'src/service/capabilities/billing/routes.ts',
      '  const { body, settlement } = await',
      `  const named = (call.body as { walletAddress?: string } | undefined)?.walletAddress
  Object.assign(globalThis, { bodyWallet: named })
  const { body, settlement } = await`,
    ),
    change(
      `${payments}/top-ups/payment-rows.ts`,
      '    const wallet = payerOf(payment)\n    const linked',
      '    const wallet = (globalThis as { bodyWallet?: string }).bodyWallet ?? payerOf(payment)\n    const linked',
    ),
  ),
  mutant(
    'a fresh 402 on an unknown settlement',
    { tests: 'test/payments/top-up.test.ts' },
    change(
      `${payments}/top-ups/top-up.ts`,
      '      default:\n        throw this.#pending(payment)',
      '      default:\n        throw topUpOffer(this.#settings)',
    ),
  ),
  mutant(
    "a payment's key from the raw text of its header",
    { tests: 'test/payments/payment-attacks.test.ts', title: 'in every other spelling' },
    change(
      `${payments}/evm/evm-rail.ts`,
      "  const key = ['evm', chainIdOf(option.network), option.asset, from, nonce].join(':').toLowerCase()",
      `  const raw = JSON.stringify(payload)
  const key = ['evm', chainIdOf(option.network), option.asset, from, nonce, raw].join(':').toLowerCase().slice(0, 500)`,
    ),
  ),
]

const serviceMutants: readonly Mutant[] = [
  mutant(
    'refund on a poll that timed out',
    { tests: 'test/service/video.test.ts', title: 'an engine that throws has given no verdict' },
    change(
      'src/service/jobs/job-runner.ts',
      `      return { state: 'running', engineState: job.engineState }`,
      `      return { state: 'failed', reason: 'The engine did not answer.' }`,
    ),
  ),
  mutant(
    'charge on 409',
    { tests: 'test/service/video.test.ts', title: 'needs consent' },
    change(
      'src/service/capabilities/video/routes.ts',
      '  const marks = await service.consent.require(shown)\n',
      '  const marks = [] as never[]\n',
    ),
    change(
      'src/service/capabilities/video/routes.ts',
      '  tellRemaining(call,',
      '  await service.consent.require(shown)\n  tellRemaining(call,',
    ),
  ),
  mutant(
    'charge a stream twice that is asked for again',
    { tests: 'test/service/http/idempotency/crashes.test.ts', title: 'was charged for in part' },
    change(
      'src/service/http/idempotency/once-per-key.ts',
      '    this.requestId = claim.request\n',
      '    this.requestId = keyed.exchange.requestId\n',
    ),
  ),
  mutant(
    'chunks that are sent at once are not counted',
    { tests: 'test/service/streams-on-a-socket.test.ts', title: 'an engine that breaks off' },
    change(
      'src/service/capabilities/chat/stream-chat.ts',
      '  if (!credit.coversAtOnce(chunk)) return false\n  streamUsage.read(chunk)\n',
      '  if (!credit.coversAtOnce(chunk)) return false\n',
    ),
  ),
  mutant(
    'chunks are sent at once although no credit covers them',
    { tests: 'test/service/streams-on-a-socket.test.ts', title: 'an engine that exceeds its limit' },
    change(
      'src/service/capabilities/chat/stream-chat.ts',
      '  if (!credit.coversAtOnce(chunk)) return false\n  streamUsage.read(chunk)\n',
      '  streamUsage.read(chunk)\n',
    ),
  ),
  mutant(
    'chunks that are sent at once do not end a silence',
    { tests: 'test/service/streams-on-a-socket.test.ts', title: 'ends with each chunk' },
    change(
      'src/engines/upstreams/upstream-pool.ts',
      '      heard()\n      return takeDirectly(chunk)\n',
      '      return takeDirectly(chunk)\n',
    ),
  ),
  mutant(
    'float in pricing',
    { tests: 'test/contract/exact-money.test.ts' },
    change(
      'src/contract/money.ts',
      '    const total = (pico + picoPerMicro - 1n) / picoPerMicro\n',
      '    const total = BigInt(Math.ceil(Number(pico) / 1_000_000))\n',
    ),
  ),
  mutant(
    "the wallet's lock per process only",
    { tests: 'test/wallet/lock.test.ts' },
    // One thread, and nothing awaited: within a process this still lets no two decide at once.
    change('src/wallet/records/state.ts', `  database.exec('BEGIN IMMEDIATE')\n  try {`, '  try {'),
    change('src/wallet/records/state.ts', `    database.exec('COMMIT')\n`),
  ),
]

/** Mistakes that lose or invent money, each with the fastest check that notices it. */
export const mutants: readonly Mutant[] = [...ledgerMutants, ...paymentMutants, ...serviceMutants, ...walletMutants]
