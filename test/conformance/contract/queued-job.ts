import type { Asked } from './recipe.ts'
import type { Stand } from './stand.ts'

type Family = 'video' | 'audio'

/** How one asks after a new job of which there is a verdict. */
export async function queuedJob(stand: Stand, family: Family, order: object): Promise<Asked> {
  const response = await stand.ask('POST', `/${family}/queue`, { body: order })
  const { model, queue_id } = (await response.json()) as { model: string; queue_id: string }
  const job = () => stand.opened.store.read.selectFrom('job').select('state').where('id', '=', queue_id)
  for (;;) {
    // Before the look, so that no commit falls between the two.
    const written = stand.nextCommit()
    const { state } = await job().executeTakeFirstOrThrow()
    if (state === 'completed' || state === 'failed') break
    await written
  }
  return { body: { model, queue_id } }
}

/** The same once its file is gone. */
export async function deletedJob(stand: Stand, family: Family, order: object): Promise<Asked> {
  const asked = await queuedJob(stand, family, order)
  await stand.ask('POST', `/${family}/complete`, asked)
  return asked
}
