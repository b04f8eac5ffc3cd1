import type { Store } from '../store/store.ts'

/** Which of these keys count no more: revoked, expired, or gone. */
export async function endedKeys(store: Store, keys: readonly string[], nowMs: number): Promise<Set<string>> {
  const rows = await store.read
    .selectFrom('api_key')
    .select(['id', 'revoked_at_ms', 'expires_at_ms'])
    .where('id', 'in', [...keys])
    .execute()
  const good = rows.filter(
    row => row.revoked_at_ms === null && (row.expires_at_ms === null || row.expires_at_ms > nowMs),
  )
  const ended = new Set(keys)
  for (const { id } of good) ended.delete(id)
  return ended
}
