import type { KeyNeeds } from '#access/keys/api-keys.ts'
import type { ListedKey } from '#access/keys/listed-key.ts'

/** What a list says of the secret that a key needs; nothing where all is as it should be. */
const needs: Readonly<Record<KeyNeeds, string>> = {
  current: '',
  former: 'needs a former secret',
  missing: 'needs a secret that is not here',
  unmarked: 'made by the first release, perhaps under a former secret',
}

/** One line a key, newest first, for a person. */
export function sayKeys(keys: readonly ListedKey[], nowMs: number): string[] {
  if (keys.length === 0) return ['There are no keys.']
  return keys.map(key =>
    [
      key.id,
      `${key.prefix}…`,
      key.account,
      `made ${dayOf(key.createdAtMs)}`,
      key.role === 'ADMIN' ? 'ADMIN' : '',
      stateOf(key, nowMs),
      needs[key.needs],
      limitsOf(key),
      JSON.stringify(key.label),
    ]
      .filter(part => part !== '')
      .join('  '),
  )
}

function stateOf({ revokedAtMs, expiresAtMs }: ListedKey, nowMs: number): string {
  if (revokedAtMs !== null) return `revoked ${dayOf(revokedAtMs)}`
  if (expiresAtMs === null) return 'active'
  return `${expiresAtMs <= nowMs ? 'expired' : 'active until'} ${dayOf(expiresAtMs)}`
}

const periods = { epoch: 'a day', month: 'a month', lifetime: 'in all' } as const

function limitsOf({ budget }: ListedKey): string {
  if (!budget) return ''
  const { usd, staking, period } = budget
  const limits = [usd === null ? '' : `${usd} USD`, staking === null ? '' : `${staking} of staking credit`]
  return `at most ${limits.filter(Boolean).join(' and ')} ${periods[period]}`
}

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
