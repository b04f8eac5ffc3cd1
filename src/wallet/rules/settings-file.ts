import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { MicroUsd } from '#contract/money.ts'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { maxSettingsFileBytes } from '../limits.ts'
import { readPrivateFile, replacePrivateFile } from '../private-file.ts'
import { type Policy, readUsdCap, serviceOrigin, settingsRefusal, tighten } from './policy.ts'

export const settingsFileName = 'policy.json'

const usd = z.string().optional()

/** What `policy.json` may contain. Every member makes the policy stricter; none relaxes it. */
const Settings = z.strictObject({
  service: z.string().optional(),
  maxPaymentUsd: usd,
  maxDayUsd: usd,
  maxTotalUsd: usd,
  maxCallUsd: usd,
  askAboveUsd: usd,
  /** This can make the first top-up need approval, but not the opposite. */
  askFirstTopUp: z.literal(true).optional(),
  networks: z.array(z.string()).optional(),
  cooldownSeconds: z.number().int().nonnegative().optional(),
  dryRun: z.boolean().optional(),
  /** This can turn refilling off, but not on. */
  refill: z.literal(false).optional(),
})

/**
 * Makes a folder's policy stricter; existing settings stay if they are stricter still. Returns a function that undoes
 * it.
 */
export function narrowFile(folder: string, settings: z.input<typeof Settings>): () => void {
  const path = join(folder, settingsFileName)
  const before = readPrivateFile(path, maxSettingsFileBytes, false)
  const present = readFile(folder) ?? {}
  const caps = capNames.flatMap(name => {
    const texts = [present[name], settings[name]].filter(text => text !== undefined)
    const [least] = texts.toSorted((one, other) => (capOf(name, one) < capOf(name, other) ? -1 : 1))
    return least === undefined ? [] : [[name, least] as const]
  })
  const narrowed = { ...settings, ...present, ...Object.fromEntries(caps) }
  const asksFirst = settings.askFirstTopUp ?? present.askFirstTopUp
  const text = JSON.stringify({ ...narrowed, ...(asksFirst && { askFirstTopUp: true }) }, null, 2)
  replacePrivateFile(folder, settingsFileName, `${text}\n`)
  return () => (before === null ? rmSync(path, { force: true }) : replacePrivateFile(folder, settingsFileName, before))
}

const capNames = ['maxPaymentUsd', 'maxDayUsd', 'maxTotalUsd', 'maxCallUsd', 'askAboveUsd'] as const

const capOf = (name: (typeof capNames)[number], text: string): MicroUsd =>
  readUsdCap(`${name} in ${settingsFileName}`, text)

/** Applies the folder's settings file, if there is one, to the policy. An unreadable file stops the wallet. */
export function tightenByFile(policy: Policy, folder: string): Policy {
  const settings = readFile(folder)
  return settings ? tighten(policy, narrowing(settings, policy)) : policy
}

function readFile(folder: string): z.output<typeof Settings> | null {
  const path = join(folder, settingsFileName)
  const text = readPrivateFile(path, maxSettingsFileBytes, false)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const parsed = Settings.safeParse(json.ok ? json.value : undefined)
  if (!parsed.success) {
    const member = parsed.error.issues[0]?.path.join('.') || 'the outermost object'
    throw settingsRefusal(
      `${path} cannot be read: ${json.ok ? `${member} is invalid` : `it ${json.reason}`}`,
      `It may contain ${Object.keys(Settings.shape).join(', ')}; amounts are strings.`,
    )
  }
  return parsed.data
}

function narrowing(settings: z.output<typeof Settings>, policy: Policy): Partial<Policy> {
  const cap = (name: (typeof capNames)[number]) => {
    const text = settings[name]
    return text === undefined ? undefined : capOf(name, text)
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
    ...(settings.askFirstTopUp && { asksFirstTopUp: true }),
    ...(settings.service !== undefined && { origin: serviceOrigin(settings.service) }),
    ...(settings.networks && { rails: policy.rails.filter(rail => settings.networks?.includes(rail.network)) }),
    ...(settings.cooldownSeconds !== undefined && { cooldownMs: settings.cooldownSeconds * 1_000 }),
    ...(settings.dryRun !== undefined && { dryRun: settings.dryRun }),
    ...(settings.refill === false && { refill: null }),
  }
}
