import { z } from 'zod'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import { embeddingTexts } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument } from '#toolkit/input/arguments.ts'
import { paidOutput, paidShape, SavedFileOutput, sayPaid, saySaved } from '#toolkit/output/paid.ts'
import type { Paid, ToolContext } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

export default defineTool({
  name: 'embeddings_create',
  set: 'core',
  isDefault: false,
  title: 'Create embeddings',
  description:
    'Turns texts into vectors for search or clustering, saved as JSON: an array of arrays in the same order. To answer a question about a text, use chat. Paid per token.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Id from models_find.'),
    texts: z.array(z.string().min(1)).min(1).max(embeddingTexts).describe('What to embed.'),
    dimensions: z.number().int().min(1).optional().describe('Shortens the vectors.'),
    again: againArgument,
  }),
  modelType: 'embedding',
  sentAs: { input: 'texts' },
  output: z.object({
    model: z.string(),
    vectors: z.number(),
    dimensions: z.number(),
    input_tokens: z.number(),
    file: SavedFileOutput,
    ...paidShape,
  }),

  async run(context, { texts, again, ...options }) {
    const body = { ...options, input: texts }
    const { answer, paid } = await context.call(
      createEmbedding,
      { params: undefined, query: undefined, body },
      { again },
    )
    const vectors = answer.data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding)
    const { path, mimeType, bytes } = await savingPaid(context, paid, () =>
      context.files.saveText(JSON.stringify(vectors), `vectors ${answer.model}`, 'application/json'),
    )
    return {
      model: untrustedId(answer.model),
      vectors: vectors.length,
      dimensions: vectors[0]?.length ?? 0,
      input_tokens: answer.usage.prompt_tokens,
      file: { path, mime_type: mimeType, bytes },
      ...paidOutput(paid),
    }
  },

  say: output =>
    `${output.vectors} vectors of ${output.dimensions} numbers by ${output.model}, from ${output.input_tokens} tokens. ${saySaved(output.file)} ${sayPaid(output)}`,
  files: ({ file }) => [{ path: file.path, mimeType: file.mime_type }],
})

/**
 * Saves a result that the call has paid for and that is only useful as a file. If it cannot be saved, the call counts
 * as undelivered, so a repeat finds the stored result; the failure says so, and reports what was charged.
 */
export async function savingPaid<Result>(
  { signal }: Pick<ToolContext, 'signal'>,
  paid: Paid,
  save: () => Promise<Result>,
): Promise<Result> {
  try {
    return await save()
  } catch (error) {
    if (signal.aborted) throw error
    throw new ToolFailure({
      happened: 'The service returned the vectors, but they could not be written to the output folder.',
      charged: paid.chargedMicroUsd ?? 'unknown',
      creditLeftMicroUsd: paid.creditLeftMicroUsd,
      budgetLeftMicroUsd: paid.budgetLeftMicroUsd,
      next: 'Ask the user to check that the output folder (FAREBOX_OUTPUT_DIR) exists, is writable and has space left, then make the same call again within 10 minutes: its result is kept and is not charged again.',
    })
  }
}
