import { z } from 'zod'
import { modelRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import type { LimitsView } from '#toolkit/tool-context.ts'
import { isoTime } from '#toolkit/values/amounts.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

const observed = 'The service lists no limits; these are from its last answers.'

export default defineTool({
  name: 'limits',
  set: 'core',
  title: 'Rate limits',
  description:
    'Shows rate limits per minute by model, what remains of them, and the tier. Use it after a rate-limit error, or before many calls. For money, use wallet_status. Needs a wallet or key. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ model: z.string().optional().describe('Part of a model id.') }),
  output: z.object({
    tier: z.string().nullable(),
    note: z.string().optional(),
    models: z.array(
      z.object({
        model: z.string(),
        requests_per_minute: z.number().nullable(),
        tokens_per_minute: z.number().nullable(),
        left: z
          .object({
            requests: z.number().optional(),
            requests_reset_at: z.string().optional(),
            tokens: z.number().optional(),
            tokens_reset_at: z.string().optional(),
          })
          .optional(),
      }),
    ),
    found: z.number(),
  }),

  async run(context, { model: part = '' }) {
    const { tier, source, models } = await context.limits()
    const found = models.filter(({ model }) => model.toLowerCase().includes(part.toLowerCase()))
    const notes = [
      ...(source === 'answers' ? [observed] : []),
      ...(part !== '' && found.length === 0
        ? [`No model with a limit has "${untrustedId(part)}" in its id; models_find lists the ids.`]
        : []),
    ]
    return {
      tier: tier && untrustedId(tier),
      ...(notes.length > 0 && { note: notes.join(' ') }),
      models: found.slice(0, modelRows.maximum).map(shownRow),
      found: found.length,
    }
  },

  say({ tier, note, models, found }) {
    const rest = found - models.length
    // A list without a token limit means that there is none; an answer may just not have reported it.
    const unsaid = note?.startsWith(observed) ? 'unknown' : 'unlimited'
    return [
      ...(tier === null ? [] : [`Tier: ${tier}.`]),
      ...(note === undefined ? [] : [note]),
      ...models.map(
        row =>
          `- ${row.model}: ${row.requests_per_minute ?? 'unknown'} requests and ${row.tokens_per_minute ?? unsaid} tokens a minute${sayLeft(row.left)}`,
      ),
      ...(rest > 0 ? [`${rest} more models; give part of an id.`] : []),
    ].join('\n')
  },
})

/** Omits what no answer has reported, because there may be many rows. */
function shownRow({ model, ...row }: LimitsView['models'][number]) {
  const left = {
    ...(row.requestsLeft !== null && { requests: row.requestsLeft }),
    ...(row.requestsResetAtMs !== null && { requests_reset_at: isoTime(row.requestsResetAtMs) }),
    ...(row.tokensLeft !== null && { tokens: row.tokensLeft }),
    ...(row.tokensResetAtMs !== null && { tokens_reset_at: isoTime(row.tokensResetAtMs) }),
  }
  return {
    model: untrustedId(model),
    requests_per_minute: row.requestsPerMinute,
    tokens_per_minute: row.tokensPerMinute,
    ...(Object.keys(left).length > 0 && { left }),
  }
}

interface Left {
  requests?: number | undefined
  requests_reset_at?: string | undefined
  tokens?: number | undefined
  tokens_reset_at?: string | undefined
}

function sayLeft({ requests, requests_reset_at, tokens, tokens_reset_at }: Left = {}): string {
  const part = (count: number | undefined, unit: string, until: string | undefined) =>
    count === undefined ? [] : [`${count} ${unit} left${until === undefined ? '' : ` until ${until}`}`]
  const parts = [...part(requests, 'requests', requests_reset_at), ...part(tokens, 'tokens', tokens_reset_at)]
  return parts.length === 0 ? '' : `; ${parts.join(', ')}`
}
