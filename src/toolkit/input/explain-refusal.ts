import type { z } from 'zod'
import { nearNames } from '#contract/near-names.ts'
import { type ModelRecord, modelsNamed } from '#contract/operations/models.ts'
import { choiceNames, nearModels } from '../bounds.ts'
import type { Tool } from '../define.ts'
import type { ToolContext } from '../tool-context.ts'
import { type RefusedValue, ToolFailure } from '../tool-failure.ts'
import { untrustedId, untrustedName } from '../values/untrusted.ts'
import { everyChoice } from './model-choices.ts'

/**
 * The beginning of a refusal of values, before they are named: the service refuses, or its model's record does before
 * anything is sent.
 */
export const refusedValues = 'The service does not accept these values.'
export const unsentValues = 'Nothing was sent, because the model does not accept these values.'

interface Refusal {
  tool: Tool
  /** The arguments of the call. */
  given: Record<string, unknown>
  context: ToolContext
}

/**
 * Rewords a refusal of values with the names that the caller knows: the tool's arguments, with the values that the
 * model's record or the list of models allows. Both are looked up only after a refusal, because a service may know a
 * model by more names than it lists. Any other error is returned unchanged.
 */
export async function explainRefusal(error: unknown, refusal: Refusal): Promise<unknown> {
  if (!(error instanceof ToolFailure) || !error.facts.refused) return error
  const { facts } = error
  const refused = error.facts.refused.map(value => ({
    ...value,
    name: argumentOf(refusal.tool, value.name, value.reason),
  }))
  const names = [...new Set(refused.map(({ name }) => name))]
  const isDamaged = refused.some(({ reason }) => damaged.test(reason))
  const next = isDamaged ? anotherFile(names) : await nextStep(names, facts.said ?? '', refusal).catch(() => null)
  const hasWords = Boolean(facts.said) || refused.some(({ reason }) => reason !== '')
  return new ToolFailure({
    ...facts,
    refused,
    happened: sayRefused(facts.happened, names),
    next: next ?? (hasWords ? changed(names) : facts.next),
  })
}

const sayRefused = (happened: string, names: readonly string[]): string =>
  names.length > 0 && (happened === refusedValues || happened === unsentValues)
    ? happened.replace('these values', `these values: ${listed(names)}`)
    : happened

const changed = (names: readonly string[]): string =>
  `Change ${names.length > 0 ? listed(names) : 'the arguments'} as described below, then call again.`

/** About a file's bytes, which the model's record says nothing about. */
const damaged = /\b(?:cut off|truncated|damaged|corrupt(?:ed)?)\b/i

const anotherFile = (names: readonly string[]): string =>
  `The file in ${listed(names)} is damaged or incomplete, as described below. Give another file.`

const listed = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

/**
 * Finds the innermost part of a path that is an argument, or derived from one; members that the tool itself sets keep
 * their names. A part of a message is identified by the reason, because its path says only which message it is: `m does
 * not take video_url`.
 */
function argumentOf(
  { input, sentAs = {} }: Pick<Tool, 'input' | 'sentAs'>,
  path: RefusedValue['name'],
  reason = '',
): string {
  const parts = path.split('.').reverse()
  for (const [depth, part] of parts.entries()) {
    const isMadeOf = Object.hasOwn(sentAs, part)
    if (!isMadeOf && !Object.hasOwn(input.shape, part)) continue
    const inside = depth > 0 && isMadeOf ? memberNamed(Object.keys(sentAs), reason) : undefined
    return sentAs[inside ?? part] ?? part
  }
  return path
}

const memberNamed = (members: readonly string[], reason: string): string | undefined =>
  members.find(member => new RegExp(`\\b${member}\\b`).test(reason.split(';')[0] ?? ''))

async function nextStep(names: readonly string[], said: string, refusal: Refusal): Promise<string | null> {
  const { tool, given, context } = refusal
  if (!('model' in tool.input.shape)) return null
  const records = await context.models()
  if (names.includes('model')) return modelStep(refusal, records)
  const [record] = modelsNamed(records, tool.modelType, given.model)
  const choices = [...(record ? everyChoice(record) : []), ...(await styles(names, context))]
  const taken = choices.filter(choice => choice.arguments.some(name => Object.hasOwn(tool.input.shape, name)))
  const isMeant = (name: string) => (names.length > 0 ? names.includes(name) : namesWord(said, name))
  const fitting = taken.filter(choice => choice.arguments.some(isMeant))
  const whose = typeof given.model === 'string' ? untrustedId(given.model) : 'The service’s model'
  if (fitting.length > 0) {
    const others = names.filter(name => !fitting.some(choice => choice.arguments.includes(name)))
    const rest = others.length === 0 ? '' : ` ${changed(others)}`
    const mayGo = names.every(name => isOptional(tool, name) && !isNeededWhereTaken.has(name))
      ? `, or without ${names.length > 1 ? 'them' : 'it'}`
      : ''
    return `${whose} accepts: ${words(fitting)}. Call again with ${fitting.length > 1 ? 'these' : 'one of these'}${mayGo}.${rest}`
  }
  if (names.length > 0 || said !== '' || taken.length === 0) return null
  return `${whose} accepts: ${words(taken)}. Call again with these values, and leave out the others.`
}

/** Optional only because some models do not have the choice. */
const isNeededWhereTaken: ReadonlySet<string> = new Set(['duration', 'prompt'])

const isOptional = ({ input }: Tool, name: string): boolean =>
  (input.shape[name] as z.ZodType | undefined)?.safeParse(undefined).success ?? false

const words = (choices: readonly { words: string }[]): string => choices.map(choice => choice.words).join('; ')

/** Some services name a value only in their sentence. Nearly every sentence contains the word prompt. */
const namesWord = (said: string, name: string): boolean =>
  name !== 'prompt' && name !== 'images' && new RegExp(`\\b${name}\\b`, 'i').test(said)

function modelStep({ tool, given }: Refusal, records: readonly ModelRecord[]): string | null {
  const ids = records.filter(({ type }) => type === tool.modelType).map(({ id }) => untrustedId(id))
  if (ids.length === 0) return null
  const near = typeof given.model === 'string' ? nearNames(given.model, ids, nearModels) : []
  const shown = near.length > 0 ? near : ids.slice(0, nearModels)
  return `Models of type ${tool.modelType}: ${shown.join(', ')}${ids.length > shown.length ? '; models_find lists them all' : ''}. Call again with one of them.`
}

async function styles(
  names: readonly string[],
  context: ToolContext,
): Promise<{ arguments: string[]; words: string }[]> {
  if (!names.includes('style_preset')) return []
  // Loads zod, which a starting server does not need yet.
  const { listImageStyles } = await import('#contract/operations/images.ts')
  const { answer } = await context.call(listImageStyles, { params: undefined, query: undefined, body: undefined })
  const shown = answer.data.slice(0, choiceNames).map(style => untrustedName(style))
  return shown.length > 0 ? [{ arguments: ['style_preset'], words: `style_preset ${shown.join(', ')}` }] : []
}
