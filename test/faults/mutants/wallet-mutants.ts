import type { Check, Mutant } from './mutant.ts'

const wallet = 'src/wallet'

/** A round in which the mistake can show, and what the finding has to say: by another one it would be caught by accident. */
const round = (seed: number, says: string): Check => ({ faults: ['--wallet', '1', '--seed', `${seed}`], says })

export const walletMutants: readonly Mutant[] = [
  {
    name: 'wallet: forget to reserve',
    patches: [
      { file: `${wallet}/records/journal.ts`, find: `VALUES (?, 'planned', 1,`, replace: `VALUES (?, 'planned', 0,` },
      // The table would not take such a row.
      { file: `${wallet}/records/schema.ts`, find: `counts = 1 OR state = 'dead')`, replace: 'counts >= 0)' },
    ],
    check: round(50013, 'are signed, over the'),
  },
  {
    name: 'wallet: forget to count an open intent',
    patches: [
      {
        file: `${wallet}/records/journal.ts`,
        find: `AS amount FROM payments WHERE counts = 1')`,
        replace: `AS amount FROM payments WHERE state = \\'confirmed\\'')`,
      },
      {
        file: `${wallet}/records/journal.ts`,
        find: ` OR state IN ('planned', 'signed', 'sent', 'unknown'))\`,`,
        replace: `) AND state = 'confirmed'\`,`,
      },
    ],
    check: round(50013, 'are signed, over the'),
  },
  {
    name: 'wallet: no turn',
    patches: [
      {
        file: `${wallet}/payment/top-up-lease.ts`,
        find: '  if (held && Number(held.expires_at_ms) > nowMs && mayRun(String(held.owner)))',
        replace: `  if (mayRun('') && Number(held?.expires_at_ms) < 0)`,
      },
      {
        file: `${wallet}/payment/top-up-lease.ts`,
        find: `    if ((yield* first('SELECT token FROM top_up_lease'))?.token !== token) throw lost()`,
        replace: `    if ((yield* first('SELECT token FROM top_up_lease'))?.token === '') throw lost()`,
      },
    ],
    check: round(50001, 'was planned while'),
  },
  {
    name: 'wallet: go on after the turn has run out',
    patches: [
      {
        file: `${wallet}/payment/top-up-lease.ts`,
        find: `    if ((yield* first('SELECT token FROM top_up_lease'))?.token !== token) throw lost()`,
        replace: `    if ((yield* first('SELECT token FROM top_up_lease'))?.token === '') throw lost()`,
      },
    ],
    check: round(50066, 'was planned while'),
  },
  {
    name: 'wallet: sign before the row is written',
    patches: [
      {
        file: `${wallet}/payment/pay.ts`,
        find: '    const { id, chosen, amountMicroUsd, atMs } = await planPayment(context, lease, dated)\n',
        replace: `    const early = await records.read(function* (nowMs) {
      return { ...decide(context.policy, yield* situationOf(context, order, nowMs), order), nowMs }
    })
    const first = early.kind === 'allowed' ? await sign(early.chosen, early.amountMicroUsd, early.nowMs) : null
    const { id, chosen, amountMicroUsd, atMs } = await planPayment(context, lease, dated)
`,
      },
      {
        file: `${wallet}/payment/pay.ts`,
        find: '    const signed = await sign(chosen, amountMicroUsd, atMs)\n',
        replace: '    const signed = first ?? (await sign(chosen, amountMicroUsd, atMs))\n',
      },
    ],
    check: round(50013, 'was signed before its row'),
  },
  {
    name: 'wallet: send before the row is written',
    patches: [
      {
        file: `${wallet}/payment/pay.ts`,
        find: '    await followed(id, () => records.decide(store))\n',
        replace: '    await send(signed.payload)\n    await followed(id, () => records.decide(store))\n',
      },
    ],
    check: round(50010, 'which is in no row'),
  },
  {
    name: 'wallet: a second authorization after a lost answer',
    patches: [
      {
        file: `${wallet}/payment/settle.ts`,
        find: '    else if (!(await buryRejected(context, lease, payment))) throw stillOpen(payment, context)',
        replace: '    else await buryRejected(context, lease, payment)',
      },
    ],
    check: round(50024, 'was planned while'),
  },
  {
    name: 'wallet: release what the service says it refused',
    patches: [
      {
        file: `${wallet}/payment/settle.ts`,
        find: `payment.reason ?? 'rejected', !isFree, nowMs)`,
        replace: `payment.reason ?? 'rejected', false, nowMs)`,
      },
    ],
    check: round(50011, 'was signed and released'),
  },
  {
    name: 'wallet: no cooldown',
    patches: [
      {
        file: `${wallet}/rules/caps.ts`,
        find: `  if (order.occasion !== 'asked' && waitMs > 0)`,
        replace: `  if (order.occasion === 'after-402' && waitMs > policy.cooldownMs)`,
      },
    ],
    check: round(50040, 'was paid after a 402'),
  },
  {
    name: 'wallet: a day that ends at midnight',
    patches: [
      {
        file: `${wallet}/records/journal.ts`,
        find: '    nowMs - capWindowMs,\n',
        replace: '    nowMs - (nowMs % capWindowMs),\n',
      },
    ],
    check: round(50009, 'over the cap of a day'),
  },
  {
    name: 'wallet: one yes for two payments',
    patches: [
      {
        file: `${wallet}/approvals/approvals.ts`,
        find: `     AND used_by IS NULL AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC LIMIT 1`,
        replace: `     AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC LIMIT 1`,
      },
      {
        file: `${wallet}/approvals/approvals.ts`,
        find: `SET used_by = ? WHERE id = ? AND used_by IS NULL'`,
        replace: `SET used_by = ? WHERE id = ?'`,
      },
    ],
    check: round(50008, 'without a yes of its own'),
  },
  {
    name: 'wallet: switched off, and what is under way goes on',
    patches: [
      {
        file: `${wallet}/payment/pay.ts`,
        find: '      yield* lease.check()\n      // The stop switch may have been set since the decision. Only a stored payment is sent.\n      yield* refuseWhenStopped(folder)\n',
        replace: '      yield* lease.check()\n',
      },
      { file: `${wallet}/payment/settle.ts`, find: '        yield* refuseWhenStopped(folder)\n', replace: '' },
      {
        file: `${wallet}/payment/settle.ts`,
        find: '  { records, folder, pause, noteJournal }: PayContext,',
        replace: '  { records, pause, noteJournal }: PayContext,',
      },
    ],
    check: round(50005, 'while the wallet was switched off'),
  },
]
