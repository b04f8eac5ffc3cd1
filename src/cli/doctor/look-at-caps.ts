import type { AgentSettings } from '#agent/settings/settings.ts'
import { broken, type Finding, note, ok } from './finding.ts'

/** Each cap with where it comes from, and what keeps the wallet from paying at all. */
export async function lookAtCaps({ env }: AgentSettings, folder: string): Promise<readonly Finding[]> {
  const [{ capsInEffect }, { displayUsd }] = await Promise.all([
    import('#agent/settings/caps-in-effect.ts'),
    import('#contract/money.ts'),
  ])
  try {
    const { caps, isDryRun, isStopped } = capsInEffect(env, folder)
    const rows = caps.map(
      ({ of, amountMicroUsd, saidBy }) => `${of} ${displayUsd(amountMicroUsd)} (${saidBy ?? 'unless set'})`,
    )
    return [
      ok('caps', `At most for ${rows.join(', ')}.`),
      ...(isDryRun ? [dryRun] : []),
      ...(isStopped
        ? [note('caps', `A file \`stop\` in ${folder} switches the wallet off.`, 'Remove it to pay.')]
        : []),
    ]
  } catch (error) {
    return [broken('caps', (error as Error).message, 'The wallet pays nothing before that is mended.')]
  }
}

const dryRun = note(
  'caps',
  'This is a dry run: no payment is signed.',
  'Unset FAREBOX_DRY_RUN, or take `dryRun` out of policy.json, to pay.',
)
