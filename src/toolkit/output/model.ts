import { z } from 'zod'
import { type ModelRecord, tokenPricing, type UnitPricing } from '#contract/operations/models.ts'
import { choiceNames, descriptionCharacters, unitPricesShown } from '../bounds.ts'
import { modelChoices } from '../input/model-choices.ts'
import { oneLine, untrustedId, untrustedName, withoutHidden } from '../values/untrusted.ts'

/** A model as tools show it. */
export const ModelOutput = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string().optional(),
  /** In the service's words. */
  description: z.string().optional(),
  usd_per_million: z.object({ input: z.number(), output: z.number() }).optional(),
  /** For models that are not priced by tokens in and out, such as `0.04 USD an image 2K`. */
  prices: z.array(z.string()).optional(),
  context_tokens: z.number().optional(),
  abilities: z.array(z.string()).optional(),
  video: z
    .object({
      kind: z.string(),
      durations: z.array(z.string()),
      aspect_ratios: z.array(z.string()),
      resolutions: z.array(z.string()),
      audio: z.boolean(),
      prompt_characters: z.number().optional(),
    })
    .optional(),
  /** Other names of it, such as `default`. */
  traits: z.array(z.string()).optional(),
  /** The options of a request to an image or audio model. */
  takes: z.array(z.string()).optional(),
  offline: z.boolean().optional(),
  ends_at: z.string().optional(),
})
export type ModelOutput = z.output<typeof ModelOutput>

export function modelOutput(record: ModelRecord): ModelOutput {
  const { id, type, context_length, model_spec: spec } = record
  const takes = modelChoices(record)
  const video = spec.constraints && 'durations' in spec.constraints ? spec.constraints : undefined
  const prices = tokenPricing(spec.pricing)
  return {
    id: untrustedId(id),
    type: untrustedId(type),
    ...(spec.name ? { name: oneLine(spec.name) } : {}),
    ...(spec.description
      ? { description: withoutHidden(spec.description).slice(0, descriptionCharacters).toWellFormed() }
      : {}),
    ...(prices ? { usd_per_million: { input: prices.input.usd, output: prices.output.usd } } : {}),
    ...(prices ? {} : { prices: unitPrices(record) }),
    context_tokens: spec.availableContextTokens ?? context_length,
    ...(spec.capabilities ? { abilities: abilitiesOf(spec.capabilities) } : {}),
    ...(video
      ? {
          video: {
            kind: video.model_type,
            durations: namesOf(video.durations),
            aspect_ratios: namesOf(video.aspect_ratios),
            resolutions: namesOf(video.resolutions),
            audio: video.audio,
            prompt_characters: video.prompt_character_limit,
          },
        }
      : {}),
    ...(spec.traits?.length ? { traits: namesOf(spec.traits) } : {}),
    ...(takes.length > 0 ? { takes } : {}),
    ...(spec.offline ? { offline: true } : {}),
    ...(spec.deprecation ? { ends_at: untrustedId(spec.deprecation.removesAt) } : {}),
  }
}

const namesOf = (values: readonly string[] = []): string[] =>
  values.slice(0, choiceNames).map(value => untrustedName(value))

/** `supportsVision` becomes `vision`. */
const abilitiesOf = (capabilities: NonNullable<ModelRecord['model_spec']['capabilities']>): string[] =>
  Object.entries(capabilities).flatMap(([key, has]) =>
    has === true ? [key.replace(/^supports/, '').replace(/^./, first => first.toLowerCase())] : [],
  )

/** A line of a list; the caller marks it as untrusted. */
export function sayModel(model: ModelOutput): string {
  const facts = [`${model.id} (${model.type})`]
  if (model.name && model.name !== model.id) facts.push(model.name)
  if (model.usd_per_million) {
    const { input, output } = model.usd_per_million
    facts.push(
      output === 0
        ? `${input} USD per million tokens`
        : `${input} USD per million input tokens and ${output} USD per million output tokens`,
    )
  }
  facts.push(...(model.prices ?? []))
  if (model.context_tokens) facts.push(`${model.context_tokens} tokens of context`)
  if (model.video) facts.push(sayVideo(model.video))
  if (model.traits) facts.push(`also named ${model.traits.join(', ')}`)
  if (model.takes) facts.push(`takes ${model.takes.join(', ')}`)
  if (model.abilities?.length) facts.push(model.abilities.join(', '))
  if (model.offline) facts.push('offline now')
  if (model.ends_at) facts.push(`ends ${model.ends_at}`)
  if (model.description) facts.push(model.description.replaceAll('\n', ' '))
  return `- ${facts.join('; ')}`
}

const sayVideo = (video: NonNullable<ModelOutput['video']>): string =>
  [
    `${video.kind}, price from estimate`,
    ...choices('durations', video.durations),
    ...choices('ratios', video.aspect_ratios),
    ...choices('resolutions', video.resolutions),
    video.audio ? 'with audio' : 'silent',
    ...(video.prompt_characters === undefined ? [] : [`prompt up to ${video.prompt_characters} characters`]),
  ].join('; ')

const choices = (name: string, values: readonly string[]): string[] =>
  values.length > 0 ? [`${name} ${values.join(', ')}`] : []

/**
 * Prices of a model that is not priced by tokens in and out, such as `0.01 USD per image` and `0.04 USD per image 2K`.
 */
function unitPrices({ type, model_spec: { pricing } }: ModelRecord): string[] | undefined {
  if (!pricing || tokenPricing(pricing)) return undefined
  const prices = named(pricing as z.output<typeof UnitPricing>, type).slice(0, unitPricesShown)
  return prices.length > 0 ? prices.map(([what, usd]) => `${usd} USD ${what}`) : undefined
}

type Named = [what: string, usd: number]

function named(pricing: z.output<typeof UnitPricing>, type: ModelRecord['type']): Named[] {
  const { quality = {}, resolutions = {}, durations = {}, upscale = {} } = pricing
  const single: readonly (readonly [string, { usd: number } | undefined])[] = [
    ['per image', pricing.generation],
    ['per edit', pricing.inpaint],
    // Speech is priced by the spoken characters.
    [type === 'tts' ? 'per million characters' : 'per million tokens', pricing.input],
    ['per second', pricing.per_second],
    ['per second of audio', pricing.per_audio_second],
    ['per thousand characters', pricing.per_thousand_characters],
  ]
  return [
    ...single.flatMap(([what, price]): Named[] => (price ? [[what, price.usd]] : [])),
    ...each('per image', resolutions),
    ...Object.entries(quality).flatMap(([resolution, levels]) =>
      each(`per image ${untrustedName(resolution)}`, levels),
    ),
    ...each('per upscale', upscale),
    ...each('a duration', durations),
  ]
}

const each = (what: string, prices: Readonly<Record<string, { usd: number } | undefined>>): Named[] =>
  Object.entries(prices).flatMap(([of, price]): Named[] => (price ? [[`${what} ${untrustedName(of)}`, price.usd]] : []))
