import { z } from 'zod'
import { defineTool } from '#toolkit/define.ts'
import { Usd } from '#toolkit/output/paid.ts'
import { sayUsd, usd } from '#toolkit/values/amounts.ts'

export default defineTool({
  name: 'estimate',
  set: 'core',
  title: 'Price of a call',
  description:
    'Returns the maximum price of a call to a paid tool, and whether the user must approve it; buys nothing. Use it before videos, music and other expensive calls. To compare models, use models_find. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    tool: z.string().min(1).max(64).describe('Name of the paid tool.'),
    arguments: z.record(z.string(), z.unknown()).default({}).describe('Its arguments.'),
  }),
  app: 'approval',
  output: z.object({
    tool: z.string(),
    what: z.string(),
    at_most_usd: Usd,
    approval: z.enum(['not_needed', 'needed', 'refused']),
    because: z.string().nullable(),
  }),

  async run(context, { tool, arguments: given }) {
    const { what, mostMicroUsd, approval, because } = await context.estimate(tool, given)
    return { tool, what, at_most_usd: usd(mostMicroUsd), approval, because }
  },

  say({ tool, what, at_most_usd, approval, because }) {
    const price =
      at_most_usd === null
        ? `${tool}: the price is not known in advance`
        : `${tool} costs ${at_most_usd === 0 ? 'nothing' : `at most ${sayUsd(at_most_usd)}`}`
    return [
      `${price} (${what}).`,
      approvals[approval],
      ...(because === null ? [] : [because]),
      'Nothing was charged.',
    ].join(' ')
  },
})

const approvals = {
  not_needed: 'No approval is needed.',
  needed: 'The user must approve it.',
  refused: 'The wallet refuses it.',
} as const
