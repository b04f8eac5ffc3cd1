import type { AgentEnvironment } from '#agent/settings/wallet-settings.ts'
import type { OwnerDesk } from '#agent/wallet/owner-desk.ts'
import { addUsd, displayUsd } from '#contract/money.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { broken, type Finding, note, ok } from './finding.ts'

const check = 'caps'

type WalletStatus = Awaited<ReturnType<OwnerDesk['status']>>

/** Each cap with where it comes from, what is used of them, and what keeps the wallet from paying at all. */
export async function lookAtCaps(env: AgentEnvironment, folder: string): Promise<readonly Finding[]> {
  const [{ capsInEffect }, { journalStatus }] = await Promise.all([
    import('#agent/settings/caps-in-effect.ts'),
    import('#agent/wallet/owner-desk.ts'),
  ])
  try {
    const { caps, isDryRun, hasStopFile } = capsInEffect(env, folder)
    const rows = caps.map(
      ({ of, amountMicroUsd, saidBy }) => `${of} ${displayUsd(amountMicroUsd)} (${saidBy ?? 'default'})`,
    )
    const status = await journalStatus(folder, env)
    return [
      ok(check, `In force: ${rows.join(', ')}.`),
      ...(status ? usedOf(status) : []),
      ...(isDryRun ? [dryRun] : []),
      ...(hasStopFile
        ? [note(check, `The wallet is switched off by the file \`stop\` in ${folder}.`, 'Remove it to pay.')]
        : []),
    ]
  } catch (error) {
    return [broken(check, (error as Error).message, 'The wallet pays nothing until this is fixed.')]
  }
}

function usedOf(status: WalletStatus): Finding[] {
  const { stop, caps, spentDayMicroUsd, spentTotalMicroUsd } = status
  const { maxDayMicroUsd, maxTotalMicroUsd } = caps
  const used = `${displayUsd(spentDayMicroUsd)} of ${displayUsd(maxDayMicroUsd)} in 24 hours, ${displayUsd(spentTotalMicroUsd)} of ${displayUsd(maxTotalMicroUsd)} in total`
  return [
    ok(check, `Paid or reserved: ${used}.`),
    ...usedUp(status),
    ...(stop
      ? [
          note(
            check,
            `The wallet is switched off since ${new Date(stop.atMs).toISOString()}, by ${stop.by}.`,
            'Run `farebox wallet start` to pay again.',
          ),
        ]
      : []),
  ]
}

/** A cap is used up when it leaves no room for the smallest top-up. */
function usedUp({ caps, spentDayMicroUsd, spentTotalMicroUsd, moreFromMs }: WalletStatus): Finding[] {
  const leaves = (cap: string, left: bigint) =>
    `The cap ${cap} leaves ${displayUsd(addUsd(left > 0n ? left : 0n))}; the smallest top-up is ${displayUsd(smallestTopUpMicroUsd)}.`
  const [total, day] = [caps.maxTotalMicroUsd - spentTotalMicroUsd, caps.maxDayMicroUsd - spentDayMicroUsd]
  if (total < smallestTopUpMicroUsd)
    return [note(check, leaves('in total', total), 'Raise FAREBOX_MAX_TOTAL_USD to pay more.')]
  if (day >= smallestTopUpMicroUsd) return []
  const wait = moreFromMs === null ? 'Raise' : `Wait until ${new Date(moreFromMs).toISOString()}, or raise`
  return [note(check, leaves('in 24 hours', day), `${wait} FAREBOX_MAX_DAY_USD.`)]
}

const dryRun = note(
  check,
  'This is a dry run: no payment is signed.',
  'Unset FAREBOX_DRY_RUN, or take `dryRun` out of policy.json, to pay.',
)
