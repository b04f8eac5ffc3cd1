import { z } from 'zod'
import { minuteMs } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import type { Act } from '#ledger/accounts/operator-acts.ts'
import type { Op } from '#ledger/store/units.ts'
import type { ModelRow, ModelTried } from '#pages/console/models-wire.ts'
import { commitAct, refusedByLedger, tryAct } from '../queries/acts.ts'
import type { Asked, ConsoleRoutes, RouteContext } from './console-route.ts'

/**
 * Probes in a minute, over all operators and processes: an engine may cost its operator money for each, and a stolen
 * session must not spend more than this.
 */
export const triesPerMinute = 6

const name = z.string().min(1).max(200)
const Try = z.strictObject({ model: name, upstream: name })

const sentences: Readonly<Record<ModelTried['outcome'], string>> = {
  works: 'It answered.',
  refused: 'It answered, and refused the probe. Check its model name and settings.',
  busy: 'It is reachable, but accepts no more calls for now.',
  silent: 'It did not answer in time. Check whether it is overloaded or stopped.',
  failed:
    'It failed, cannot be reached, or refuses the service’s key. The log of the service and `farebox doctor` show the reason.',
}

/** The models that are sold, and one small probe of an engine. */
export const modelRoutes: ConsoleRoutes = {
  'POST /api/models': {
    role: 'read',
    run: async (_, { catalogue, pricesOf }): Promise<ModelRow[]> =>
      catalogue.models.map(({ id, type, isOff, upstreams }) => ({
        ...{ model: id, type, isOff: isOff === true, prices: [...pricesOf(id)] },
        ...{ waiting: upstreams?.waiting() ?? 0, queue: upstreams?.queue ?? null },
        isTriable: upstreams?.tryOne !== undefined,
        upstreams: (upstreams?.states() ?? []).map(
          ({ name, weight, concurrency, state, running, calls, failures }) => ({
            ...{ name, weight, concurrency, state, running, calls },
            failures: Object.values(failures).reduce((sum, count) => sum + count, 0),
          }),
        ),
      })),
  },
  'POST /api/models/try': { role: 'owner', run: tryOne },
}

/**
 * Charged to no customer, and without a customer’s data. Its row of the log is written before the probe, so that rows
 * limit the probes of all processes; a second row has the outcome.
 */
async function tryOne({ body, session }: Asked, context: RouteContext): Promise<ModelTried> {
  const asked = Try.safeParse(body)
  if (!asked.success) throw new PageRefusal(400, 'Name a model and an upstream.', 'Reload the page.')
  const { model, upstream } = asked.data
  const upstreams = context.catalogue.models.find(({ id }) => id === model)?.upstreams
  const state = upstreams?.states().find(each => each.name === upstream)?.state
  if (!state) throw new PageRefusal(404, 'There is no such upstream.', 'Reload the page.')
  if (!upstreams?.tryOne)
    throw new PageRefusal(
      ...([
        409,
        'Models of this type cannot be tried here, because every call takes minutes or needs a file.',
      ] as const),
      'To test one, call it with an API key of your own.',
    )
  const act = { actor: `console: ${session.by}`, act: 'model.try' as const, subject: `${model}, ${upstream}` }
  await context.inTurn(() => begin(context, { ...act, before: { state } }))
  const beganMs = performance.now()
  const tried = await upstreams.tryOne(upstream)
  const tookMs = Math.round(performance.now() - beganMs)
  const { outcome, word, made } = tried ?? { outcome: 'failed', word: null }
  await commitAct(
    context,
    { ...act, after: { outcome, word, tookMs, ...(made ? { bytes: made.bytes.length } : {}) } },
    [],
  )
  const said = word === null ? sentences[outcome] : `${sentences[outcome]} (${word})`
  if (!made) return { outcome, tookMs, said, made: null }
  if (made.bytes.length > shownBytes)
    return { outcome, tookMs, said: `${said} What it made is too large to show.`, made: null }
  return { outcome, tookMs, said, made: { type: made.type, base64: Buffer.from(made.bytes).toString('base64') } }
}

/** An image of 1,024 pixels on each side has two. */
const shownBytes = 8 * 1024 * 1024

/** Writes the row that allows a probe. If another process did so first, its row counts, so this one is judged again. */
async function begin(context: RouteContext, act: Act): Promise<void> {
  for (;;) {
    const why = await tryAct({ ...context, fence: await allowOne(context) }, act, [])
    if (why === null) return
    if (why !== 'nonce_used') throw refusedByLedger(why)
  }
}

/** Returns a fence that is named after the newest probe, so that two processes cannot be allowed by the same history. */
async function allowOne({ store, clock }: Pick<RouteContext, 'store' | 'clock'>): Promise<Op> {
  const nowMs = clock.now()
  const begun = await store.read
    .selectFrom('operator_act')
    .select(['seq', 'at_ms'])
    .where('act', '=', 'model.try')
    .where('after_change', 'is', null)
    .orderBy('seq', 'desc')
    .limit(triesPerMinute)
    .execute()
  const [newest] = begun
  const oldest = begun[triesPerMinute - 1]
  if (!oldest || oldest.at_ms <= nowMs - minuteMs)
    return { op: 'nonce', key: `model-try:${newest?.seq ?? 0}`, expiresAtMs: nowMs + minuteMs }
  const seconds = Math.max(1, Math.ceil((oldest.at_ms + minuteMs - nowMs) / 1_000))
  throw new PageRefusal(
    ...([
      429,
      `At most ${triesPerMinute} engines can be tried in a minute.`,
      `Wait ${seconds} seconds.`,
      seconds,
    ] as const),
  )
}
