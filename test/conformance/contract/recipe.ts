import type { Stand } from './contract-service.ts'

/** Who asks. */
export type Caller = 'key' | 'admin' | 'poor' | 'wallet' | 'nobody'

export interface Asked {
  /** Where it differs from the operation's own, with its parameters filled in. */
  path?: string
  query?: string
  headers?: Readonly<Record<string, string>>
  /** JSON, or a form. */
  body?: unknown
  as?: Caller
}

type Given<Value> = Value | ((stand: Stand) => Value | Promise<Value>)

/** How one published operation is driven here. */
export interface Recipe {
  /** What succeeds, each in a way of its own; the first is what failures are made of. */
  succeeds: readonly Given<Asked>[]
  /** What reaches a status that the usual ways do not reach. */
  reaches?: Readonly<Record<number, Given<Asked> | { answer: (stand: Stand) => Promise<Response> }>>
  /** Statuses that nothing here leads to, and why. */
  unreachable?: Readonly<Record<number, string>>
  /** What a 500 comes of: its engine where absent and the body names a model, else the ledger. */
  failsBy?: 'books'
  /** Faults of an answer that are meant: how they begin, and why. */
  tolerated?: readonly (readonly [fault: RegExp, why: string])[]
}

/** By the published id of their operation. */
export type Recipes = Readonly<Record<string, Recipe>>

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
