import type { ConfigFile } from '#service/config/config-schema.ts'

/** What a reload takes over; the rest is read once, at the start. */
const reloaded: ReadonlySet<string> = new Set(['models', 'systemPrompt', 'plan', 'limits'])

/** Names of settings that were changed and count only from the next start on. */
export const settingsThatWait = (inForce: ConfigFile, next: ConfigFile): string[] =>
  Object.keys({ ...inForce, ...next }).filter(
    name => !reloaded.has(name) && asText(inForce[name as keyof ConfigFile]) !== asText(next[name as keyof ConfigFile]),
  )

const asText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, inside) => (typeof inside === 'bigint' ? `${inside}` : inside))
