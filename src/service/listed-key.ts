import type { ApiKeyRecord, KeyNeeds, KeyRefused } from './identity/api-keys.ts'

/** A key as operators' commands list it; never its secret. */
export interface ListedKey {
  id: string
  account: string
  prefix: string
  label: string
  createdAtMs: number
  expiresAtMs: number | null
  revokedAtMs: number | null
  needs: KeyNeeds
}

export const listedKey = (record: ApiKeyRecord): ListedKey => {
  const { id, account, prefix, label, createdAtMs, expiresAtMs, revokedAtMs, needs } = record
  return { id, account, prefix, label, createdAtMs, expiresAtMs, revokedAtMs, needs }
}

/** Why a key could not be made or revoked, for a person. */
export const refusalSentence = ({ why }: KeyRefused): string =>
  why === 'no_account' ? 'There is no such account.' : why === 'no_key' ? 'There is no such key.' : `Refused: ${why}.`
