import { z } from 'zod'
import { listModels, type ModelRecord, modelTypes } from '#contract/operations/models.ts'
import { modelRows } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { ModelOutput, modelOutput, sayModel } from '#toolkit/output/model.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { fromOutside, isData } from '#toolkit/values/untrusted.ts'

export default defineTool({
  name: 'models_find',
  set: 'core',
  title: 'Find models',
  description:
    'Finds models of the service with prices and allowed values; call it before any paid tool. For the price of one call, use estimate. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    query: z.string().optional().describe('Words in the id, name or description.'),
    type: z
      .enum([...modelTypes, 'all'])
      .default('all')
      .describe('What the model makes or reads.'),
    limit: z.number().int().min(1).max(modelRows.maximum).default(modelRows.default).describe('Rows.'),
  }),
  output: z.object({ models: z.array(ModelOutput), models_are: z.literal(isData), found: z.number() }),

  async run(context, { query = '', type, limit }) {
    const { answer } = await context.call(listModels, { params: undefined, query: { type }, body: undefined })
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const all = type === 'all' ? [...answer.data, ...(await removingBackgrounds(context))] : answer.data
    const found = all.filter(model => words.every(word => wordsOf(model).includes(word)))
    return { models: found.slice(0, limit).map(modelOutput), models_are: isData as typeof isData, found: found.length }
  },

  say({ models, found }) {
    if (found === 0) return 'No model matches. Call models_find without a query, or with type all.'
    const list = fromOutside('models of the service', models.map(sayModel).join('\n'))
    const rest = found - models.length
    return rest > 0 ? `${list}\n${rest} more match; narrow the query, or raise limit.` : list
  },
})

/** A list of all types omits them, because the type is farebox's own. */
const removingBackgrounds = async (context: ToolContext): Promise<ModelRecord[]> =>
  (await context.models()).filter(({ type }) => type === 'background')

const wordsOf = ({ id, type, model_spec: { name = '', description = '', traits = [] } }: ModelRecord): string =>
  [id, type, name, description, ...traits].join(' ').toLowerCase()
