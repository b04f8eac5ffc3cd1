import { type Check, change, type Mutant, mutant } from './mutant.ts'

const wallet = 'src/wallet'

/** A round in which the mistake can show, and what the finding has to say: by another one it would be caught by accident. */
const round = (seed: number, says: string): Check => ({ faults: ['--wallet', '1', '--seed', `${seed}`], says })

export const walletMutants: readonly Mutant[] = [
  mutant(
    'wallet: forget to reserve',
    round(50013, 'are signed, over the'),
    change(`${wallet}/records/journal.ts`, `VALUES (?, 'planned', 1,`, `VALUES (?, 'planned', 0,`),
    // The table would not take such a row.
    change(`${wallet}/records/schema.ts`, `counts = 1 OR state = 'dead')`, 'counts >= 0)'),
  ),
  mutant(
    'wallet: forget to count an open intent',
    round(50013, 'are signed, over the'),
    change(
      `${wallet}/records/journal.ts`,
      `AS amount FROM payments WHERE counts = 1')`,
      `AS amount FROM payments WHERE state = \\'confirmed\\'')`,
    ),
    change(
      `${wallet}/records/journal.ts`,
      ` OR state IN ('planned', 'signed', 'sent', 'unknown'))\`,`,
      `) AND state = 'confirmed'\`,`,
    ),
  ),
  mutant(
    'wallet: no turn',
    round(50001, 'was planned while'),
    change(
      `${wallet}/payment/top-up-lease.ts`,
      '  if (held && Number(held.expires_at_ms) > nowMs && mayRun(String(held.owner)))',
      `  if (mayRun('') && Number(held?.expires_at_ms) < 0)`,
    ),
    change(
      `${wallet}/payment/top-up-lease.ts`,
      `    if ((yield* first('SELECT token FROM top_up_lease'))?.token !== token) throw lost()`,
      `    if ((yield* first('SELECT token FROM top_up_lease'))?.token === '') throw lost()`,
    ),
  ),
  mutant(
    'wallet: go on after the turn has run out',
    round(50066, 'was planned while'),
    change(
      `${wallet}/payment/top-up-lease.ts`,
      `    if ((yield* first('SELECT token FROM top_up_lease'))?.token !== token) throw lost()`,
      `    if ((yield* first('SELECT token FROM top_up_lease'))?.token === '') throw lost()`,
    ),
  ),
  mutant(
    'wallet: sign before the row is written',
    round(50013, 'was signed before its row'),
    change(
      `${wallet}/payment/pay.ts`,
      '    const { id, chosen, amountMicroUsd, atMs } = await planPayment(context, lease, dated)\n',
      `    const early = await records.read(function* (nowMs) {
      return { ...decide(context.policy, yield* situationOf(context, order, nowMs), order), nowMs }
    })
    const first = early.kind === 'allowed' ? await sign(early.chosen, early.amountMicroUsd, early.nowMs) : null
    const { id, chosen, amountMicroUsd, atMs } = await planPayment(context, lease, dated)
`,
    ),
    change(
      `${wallet}/payment/pay.ts`,
      '    const signed = await sign(chosen, amountMicroUsd, atMs)\n',
      '    const signed = first ?? (await sign(chosen, amountMicroUsd, atMs))\n',
    ),
  ),
  mutant(
    'wallet: send before the row is written',
    round(50010, 'which is in no row'),
    change(
      `${wallet}/payment/pay.ts`,
      '    await followed(id, () => records.decide(store))\n',
      '    await send(signed.payload)\n    await followed(id, () => records.decide(store))\n',
    ),
  ),
  mutant(
    'wallet: a second authorization after a lost answer',
    round(50024, 'was planned while'),
    change(
      `${wallet}/payment/settle.ts`,
      '    else if (!(await buryRejected(context, lease, payment))) throw stillOpen(payment, context)',
      '    else await buryRejected(context, lease, payment)',
    ),
  ),
  mutant(
    'wallet: release what the service says it refused',
    round(50011, 'was signed and released'),
    change(
      `${wallet}/payment/settle.ts`,
      `payment.reason ?? 'rejected', !isFree, nowMs)`,
      `payment.reason ?? 'rejected', false, nowMs)`,
    ),
  ),
  mutant(
    'wallet: no cooldown',
    round(50040, 'was paid after a 402'),
    change(
      `${wallet}/rules/decide.ts`,
      `  if (order.occasion !== 'asked' && waitMs > 0)`,
      `  if (order.occasion === 'after-402' && waitMs > policy.cooldownMs)`,
    ),
  ),
  mutant(
    'wallet: a day that ends at midnight',
    round(50009, 'over the cap of a day'),
    change(`${wallet}/records/journal.ts`, '    nowMs - capWindowMs,\n', '    nowMs - (nowMs % capWindowMs),\n'),
  ),
  mutant(
    'wallet: one yes for two payments',
    round(50008, 'without a yes of its own'),
    change(
      `${wallet}/approvals/approvals.ts`,
      `     AND used_by IS NULL AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC LIMIT 1`,
      `     AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC LIMIT 1`,
    ),
    change(
      `${wallet}/approvals/approvals.ts`,
      `SET used_by = ? WHERE id = ? AND used_by IS NULL'`,
      `SET used_by = ? WHERE id = ?'`,
    ),
  ),
  mutant(
    'wallet: switched off, and what is under way goes on',
    round(50005, 'while the wallet was switched off'),
    change(
      `${wallet}/payment/pay.ts`,
      '      yield* lease.check()\n      // The stop switch may have been set since the decision. Only a stored payment is sent.\n      yield* refuseWhenStopped(folder)\n',
      '      yield* lease.check()\n',
    ),
    change(`${wallet}/payment/settle.ts`, '        yield* refuseWhenStopped(folder)\n'),
    change(
      `${wallet}/payment/settle.ts`,
      '  { records, folder, pause, noteJournal }: PayContext,',
      '  { records, pause, noteJournal }: PayContext,',
    ),
  ),
]
