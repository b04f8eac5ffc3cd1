import type { Store } from '#ledger/store/store.ts'
import { timedJobs, typicalMsBeforeHistory } from './bounds.ts'

/** What four of five of a model's last jobs took at most, in milliseconds (published contract §4.4). */
export async function typicalMs(store: Store, model: string): Promise<number> {
  const rows = await store.read
    .selectFrom('job')
    .select(['created_at_ms', 'updated_at_ms'])
    .where('model', '=', model)
    .where('state', '=', 'completed')
    .orderBy('id', 'desc')
    .limit(timedJobs)
    .execute()
  const times = rows.map(row => row.updated_at_ms - row.created_at_ms).sort((a, b) => a - b)
  return times[Math.ceil(times.length * 0.8) - 1] ?? typicalMsBeforeHistory
}
