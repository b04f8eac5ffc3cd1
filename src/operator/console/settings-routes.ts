import { z } from 'zod'
import { PageRefusal } from '#host/pages/page-refusal.ts'
import { limitScopes } from '#pages/console/settings-wire.ts'
import { planNames } from '#pages/console/wire.ts'
import { commitAct } from '../queries/acts.ts'
import { type ConsoleRoute, type ConsoleRoutes, type RouteContext, refusing } from './console-route.ts'
import type { SettingsFile } from './settings-file.ts'

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
