import { z } from 'zod'
import { displayUsd } from '#contract/money.ts'
import { modelRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define-tool.ts'
import { strangeId } from '#toolkit/from-outside.ts'
import { Usd } from '#toolkit/paid.ts'
import { isoTime, sayUsd, usd } from '#toolkit/say-amount.ts'

const observed = 'The service lists no limits; these are what its last answers said.'

export default defineTool({
  name: 'limits',
  set: 'core',
  title: 'Limits of the service',
  description: 'Limits a minute by model, what is left, credit. Needs a wallet or key. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ model: z.string().optional().describe('Part of an id.') }),
  output: z.object({
    credit_usd: Usd,
    note: z.string().optional(),
    window: z
      .object({
        requests_left: z.number().nullable(),
        requests_reset_at: z.string().nullable(),
        tokens_left: z.number().nullable(),
        tokens_reset_at: z.string().nullable(),
      })
      .nullable(),
    models: z.array(
      z.object({
        model: z.string(),
        requests_per_minute: z.number().nullable(),
        tokens_per_minute: z.number().nullable(),
      }),
    ),
    found: z.number(),
  }),

  async run(context, { model: part = '' }) {
    const { creditMicroUsd, refill, source, models, window } = await context.limits()
    const found = models.filter(({ model }) => model.toLowerCase().includes(part.toLowerCase()))
    const notes = [
      ...(source === 'answers' ? [observed] : []),
      ...(refill ? [`Credit below ${displayUsd(refill.below)} is refilled by ${displayUsd(refill.by)}.`] : []),
      ...(part !== '' && found.length === 0
        ? [`No model with a limit has "${strangeId(part)}" in its id; models_find has the ids.`]
        : []),
    ]
    return {
      credit_usd: usd(creditMicroUsd),
      ...(notes.length > 0 && { note: notes.join(' ') }),
      window: window && {
        requests_left: window.requestsLeft,
        requests_reset_at: window.requestsResetAtMs === null ? null : isoTime(window.requestsResetAtMs),
        tokens_left: window.tokensLeft,
        tokens_reset_at: window.tokensResetAtMs === null ? null : isoTime(window.tokensResetAtMs),
      },
      models: found.slice(0, modelRows.maximum).map(({ model, requestsPerMinute, tokensPerMinute }) => ({
        model: strangeId(model),
        requests_per_minute: requestsPerMinute,
        tokens_per_minute: tokensPerMinute,
      })),
      found: found.length,
    }
  },

  say({ credit_usd, note, window, models, found }) {
    const rest = found - models.length
    // A list that names no limit of tokens has none; an answer may just not have said it.
    const unsaid = note?.startsWith(observed) ? 'unknown' : 'unlimited'
    return [
      credit_usd === null ? 'The credit is not known.' : `Credit: ${sayUsd(credit_usd)}.`,
      ...(window
        ? [
            `Left in this window: ${window.requests_left ?? 'unknown'} requests (until ${window.requests_reset_at ?? 'unknown'}), ${window.tokens_left ?? 'unknown'} tokens.`,
          ]
        : []),
      ...(note === undefined ? [] : [note]),
      ...models.map(
        row =>
          `- ${row.model}: ${row.requests_per_minute ?? 'unknown'} requests and ${row.tokens_per_minute ?? unsaid} tokens a minute`,
      ),
      ...(rest > 0 ? [`${rest} more models; name a part of an id.`] : []),
    ].join('\n')
  },
})
