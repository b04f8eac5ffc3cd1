import { z } from 'zod'
import { ServiceError } from '#contract/errors/service-error.ts'
import { minuteMs } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import type { Act } from '#ledger/accounts/operator-acts.ts'
import type { Op } from '#ledger/store/units.ts'
import {
  type AuditResult,
  type LiveFigures,
  limitScopes,
  type ModelRow,
  type ModelTried,
  type PaymentProblems,
  planNames,
  type Recent,
  type SignedReceipt,
} from '#pages/console/wire.ts'
import { commitAct, refusedByLedger, tryAct } from '../queries/acts.ts'
import { type Asked, type ConsoleRoute, type ConsoleRoutes, type RouteContext, refusing } from './console-route.ts'
import { liveFigures } from './recent-requests.ts'
import type { SettingsFile } from './settings-file.ts'

/** What this process reports about itself, and the audit. */
export const serviceRoutes: ConsoleRoutes = {
  'POST /api/live': {
    role: 'read',
    async run(_, context): Promise<LiveFigures> {
      const { recent, clock } = context
      return withNames(context, liveFigures([recent.summary(clock.now())], 1))
    },
  },
  'POST /api/recent': {
    role: 'read',
    run: async ({ body }, { recent }): Promise<Recent> => ({ request: recent.find(textOf(body, 'request')) }),
  },
  'POST /api/receipt': {
    role: 'read',
    async run({ body }, { receipts }): Promise<SignedReceipt> {
      try {
        return await receipts.of(textOf(body, 'customer'), textOf(body, 'request'))
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        throw new PageRefusal(404, 'The ledger has no receipt for this request.', 'See its entries.')
      }
    },
  },
  'POST /api/payment-problems': {
    role: 'read',
    run: async (_, { payments }): Promise<PaymentProblems> => ({ problems: [...(payments?.problems?.() ?? [])] }),
  },
  'POST /api/audit': {
    role: 'read',
    async run(_, { audits, clock }): Promise<AuditResult> {
      if (!audits)
        throw new PageRefusal(409, 'This service cannot audit its ledger here.', 'Run `farebox ledger audit`.')
      const beganMs = clock.now()
      const report = await audits.run()
      const { ok, counts, findings, findingsLeftOff, driftMicroUsd } = report
      return {
        ...{ ok, atMs: clock.now(), tookMs: clock.now() - beganMs },
        counts: Object.entries(counts).map(([name, count]) => ({ name, count })),
        driftMicroUsd: `${driftMicroUsd}`,
        findings: findings.slice(0, shownFindings),
        findingsLeftOff: findingsLeftOff + Math.max(0, findings.length - shownFindings),
      }
    },
  },
}

/** The number of findings that the page shows; the command lists more. */
const shownFindings = 100

/** Reads a member of the body; a missing one becomes empty, which is never a valid id. */
function textOf(body: object, name: string): string {
  const value: unknown = Reflect.get(body, name)
  return typeof value === 'string' ? value : ''
}

/** Reads a few rows by their key, which is cheaper here than on another thread. */
async function withNames({ store }: RouteContext, live: LiveFigures): Promise<LiveFigures> {
  const ids = live.byCustomer.map(({ customer }) => customer)
  if (ids.length === 0) return live
  const rows = await store.read.selectFrom('customer').select(['account', 'name']).where('account', 'in', ids).execute()
  const names = new Map(rows.map(({ account, name }) => [account, name]))
  return { ...live, byCustomer: live.byCustomer.map(row => ({ ...row, name: names.get(row.customer) ?? null })) }
}

/** A page sends one dialog's changes. */
const mostChanges = 100
const name = z.string().min(1).max(128)
const perMinute = z.number().int().min(0).nullable()

const Change = z.discriminatedUnion('kind', [
  z.strictObject({
    ...{ kind: z.literal('price'), model: name, price: name },
    usd: z
      .string()
      .regex(/^\d{1,9}(\.\d{1,12})?$/, 'an amount of USD such as 5 or 0.25')
      .nullable(),
  }),
  z.strictObject({ kind: z.literal('model'), model: name, isOn: z.boolean() }),
  z.strictObject({
    ...{ kind: z.literal('limit'), scope: z.enum(limitScopes), name },
    ...{ requestsPerMinute: perMinute, tokensPerMinute: perMinute },
  }),
  z.strictObject({ kind: z.literal('plan'), plan: z.enum(planNames) }),
])

const order = { version: z.string().length(64), changes: z.array(Change).min(1).max(mostChanges) }
const Draft = z.strictObject(order)
const Write = z.strictObject({ ...order, reason: z.string().trim().min(1).max(500) })

function orderOf<Shape extends z.ZodType>(shape: Shape, body: object): z.output<Shape> {
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const field = issue?.path.at(-1)
  throw new PageRefusal(
    400,
    `The change is invalid: ${field === undefined ? '' : `${String(field)}: `}${issue?.message ?? ''}.`,
    'Correct it, then try again.',
  )
}

function fileOf({ settingsFile }: RouteContext): SettingsFile {
  if (settingsFile) return settingsFile
  throw new PageRefusal(409, 'This service was not started from a configuration.', 'Start it with `farebox serve`.')
}

const owners = (run: ConsoleRoute['run'], proof?: true): ConsoleRoute => ({
  role: 'owner',
  ...(proof ? { proof } : {}),
  run: refusing(run),
})

/** The contents of `farebox.yaml`, and changes of its prices, limits and models. */
export const settingsRoutes: ConsoleRoutes = {
  'POST /api/settings': owners(async (_, context) => fileOf(context).check()),
  'POST /api/settings/draft': owners(async ({ body }, context) => ({
    diff: await fileOf(context).draft(orderOf(Draft, body)),
  })),
  'POST /api/settings/change': owners(async ({ body, session }, context) => {
    const { reason, ...asked } = orderOf(Write, body)
    return fileOf(context).change(asked, (diff, failed) => {
      const act = { actor: `console: ${session.by}`, act: 'settings.change' as const, subject: 'farebox.yaml', reason }
      const after = failed === undefined ? linesOf(diff, '+') : { failed }
      const changed = { before: linesOf(diff, '-'), after }
      return commitAct(context, { ...act, ...changed }, [])
    })
  }, true),
}

const linesOf = (diff: readonly string[], sign: string) => ({
  lines: diff.filter(line => line.startsWith(sign)).map(line => line.slice(1).trim()),
})

/**
 * Probes in a minute, over all operators and processes: an engine may cost its operator money for each, and a stolen
 * session must not spend more than this.
 */
export const triesPerMinute = 6

const modelName = z.string().min(1).max(200)
const Try = z.strictObject({ model: modelName, upstream: modelName })

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
    return { outcome, tookMs, said: `${said} The result is too large to show.`, made: null }
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
