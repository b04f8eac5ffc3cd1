import { listImageStyles } from '#contract/images.ts'
import { choiceNames } from './bounds.ts'
import { strangeId } from './from-outside.ts'
import { modelChoices } from './model-choices.ts'
import type { ToolContext } from './tool-context.ts'
import { ToolFailure } from './tool-failure.ts'

/**
 * Runs what the service may refuse for a value that the model does not take, and says then what it takes. Looked up after
 * a refusal alone, because a service may know a model by more names than it lists.
 */
export async function sayingWhatItTakes<Result>(
  context: ToolContext,
  model: string | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    const fields = error instanceof ToolFailure ? error.facts.refusedFields : undefined
    if (!(error instanceof ToolFailure) || !fields) throw error
    const choices = await Promise.all([choicesOf(context, model), fields.includes('style_preset') && stylesOf(context)])
      .then(found => found.filter(Boolean).join('; '))
      // The refusal itself is worth more than why nothing can be said beside it.
      .catch(() => '')
    if (choices === '') throw error
    const next = `${strangeId(model ?? 'The model of the service')} takes: ${choices}. Call again with one of these, or without what is not named.`
    throw new ToolFailure({ ...error.facts, next })
  }
}

async function choicesOf(context: ToolContext, model: string | undefined): Promise<string> {
  const record = (await context.models()).find(({ id }) => id === model)
  return record ? modelChoices(record).join('; ') : ''
}

async function stylesOf(context: ToolContext): Promise<string> {
  const { answer } = await context.call(listImageStyles, { params: undefined, query: undefined, body: undefined })
  const styles = answer.data.slice(0, choiceNames).map(style => strangeId(style))
  return styles.length > 0 ? `style_preset ${styles.join(', ')}` : ''
}
