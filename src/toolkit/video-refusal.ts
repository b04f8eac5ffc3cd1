import { listModels, type ModelRecord } from '#contract/models.ts'
import { nearNames } from '#contract/near-names.ts'
import { nearVideoModels, strangeIdCharacters } from './bounds.ts'
import { strangeId } from './from-outside.ts'
import type { ToolContext } from './tool-context.ts'
import { ToolFailure } from './tool-failure.ts'

/**
 * Runs what the service may refuse for its model or its duration, and says then what it has instead. Looked up after a
 * refusal alone, because a service may know a model by more names than it lists.
 */
export async function sayingChoices<Result>(
  context: ToolContext,
  { model, duration }: { model: string; duration: string },
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ToolFailure) || error.facts.charged !== 0n || error.facts.retryAtMs !== undefined)
      throw error
    const choices = await context
      .call(listModels, { params: undefined, query: { type: 'all' }, body: undefined })
      .then(({ answer }) => choicesOf(answer.data, model, duration))
      .catch(() => null)
    throw choices ? new ToolFailure({ ...error.facts, next: choices }) : error
  }
}

/** Null where neither is what is wrong. */
function choicesOf(records: readonly ModelRecord[], model: string, duration: string): string | null {
  const videos = records.filter(({ type }) => type === 'video')
  const record = videos.find(({ id }) => id === model)
  if (!record) {
    const ids = videos.map(({ id }) => strangeId(id, strangeIdCharacters))
    const near = nearNames(model, ids, nearVideoModels)
    const listed = near.length > 0 ? near : ids.slice(0, nearVideoModels)
    return listed.length === 0 ? null : `Models of videos are ${listed.join(', ')}; models_find has them all.`
  }
  const { constraints } = record.model_spec
  const durations = constraints && 'durations' in constraints ? constraints.durations : []
  if (durations.length === 0 || durations.includes(duration)) return null
  return `${strangeId(model)} takes a duration of ${durations.map(each => strangeId(each)).join(', ')}.`
}
