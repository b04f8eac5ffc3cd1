import { join } from 'node:path'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { maxSettingsFileBytes } from '../limits.ts'
import { readPrivateFile } from '../private-file.ts'
import { type Policy, readUsdCap, serviceOrigin, settingsRefusal, tighten } from './policy.ts'

export const settingsFileName = 'policy.json'

const usd = z.string().optional()

/** What may stand in `policy.json`. Every member narrows; there is none that widens. */
const Settings = z.strictObject({
  service: z.string().optional(),
  maxPaymentUsd: usd,
  maxDayUsd: usd,
  maxTotalUsd: usd,
  maxCallUsd: usd,
  askAboveUsd: usd,
  networks: z.array(z.string()).optional(),
  cooldownSeconds: z.number().int().nonnegative().optional(),
  dryRun: z.boolean().optional(),
  /** Refilling can be switched off here, and not on. */
  refill: z.literal(false).optional(),
})

/** The policy, narrowed by the settings file of the folder where there is one. One that cannot be read stops the wallet. */
export function tightenByFile(policy: Policy, folder: string): Policy {
  const path = join(folder, settingsFileName)
  const text = readPrivateFile(path, maxSettingsFileBytes, false)
  if (text === null) return policy
  const json = parseJsonWithUniqueNames(text, 4)
  const parsed = Settings.safeParse(json.ok ? json.value : undefined)
  if (!parsed.success) {
    const member = parsed.error.issues[0]?.path.join('.') || 'its outermost object'
    throw settingsRefusal(
      `${path} cannot be read: ${json.ok ? `look at ${member}` : `it ${json.reason}`}`,
      `It may hold ${Object.keys(Settings.shape).join(', ')}; amounts are texts.`,
    )
  }
  return tighten(policy, narrowing(parsed.data, policy))
}

function narrowing(settings: z.output<typeof Settings>, policy: Policy): Partial<Policy> {
  const cap = (name: 'maxPaymentUsd' | 'maxDayUsd' | 'maxTotalUsd' | 'maxCallUsd' | 'askAboveUsd') => {
    const text = settings[name]
    return text === undefined ? undefined : readUsdCap(`${name} in ${settingsFileName}`, text)
  }
  const caps = {
    maxPaymentMicroUsd: cap('maxPaymentUsd'),
    maxDayMicroUsd: cap('maxDayUsd'),
    maxTotalMicroUsd: cap('maxTotalUsd'),
    maxCallMicroUsd: cap('maxCallUsd'),
    askAboveMicroUsd: cap('askAboveUsd'),
  }
  return {
    ...Object.fromEntries(Object.entries(caps).filter(([, amount]) => amount !== undefined)),
    ...(settings.service !== undefined && { origin: serviceOrigin(settings.service) }),
    ...(settings.networks && { rails: policy.rails.filter(rail => settings.networks?.includes(rail.network)) }),
    ...(settings.cooldownSeconds !== undefined && { cooldownMs: settings.cooldownSeconds * 1_000 }),
    ...(settings.dryRun !== undefined && { dryRun: settings.dryRun }),
    ...(settings.refill === false && { refill: null }),
  }
}
