import { type MicroUsd, toUsdNumber } from '#contract/money.ts'
import { ModelRecord } from '#contract/operations/models.ts'
import { dayMs } from '#contract/time.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import { deprecated, deprecatedReplacement, deprecationDate, deprecationWarning } from '#contract/wire/headers.ts'
import {
  type BackgroundModel,
  type EditModel,
  type EmbeddingModel,
  type ImageModel,
  type Model,
  type MusicModel,
  type SpeechModel,
  type TextModel,
  type TextPrice,
  type TranscriptionModel,
  type UpscaleModel,
  type VideoModel,
  voiceRetentionMs,
} from './model.ts'

/** Returns the public record of a model. Strict, so that a member unknown to the contract is found at startup. */
export function modelRecord(model: Model, ownedBy: string): ModelRecord {
  const record = {
    id: model.id,
    object: 'model',
    owned_by: ownedBy,
    type: model.type,
    created: model.createdAt,
    ...(model.type === 'text' ? { context_length: model.contextTokens } : {}),
    model_spec: {
      name: model.name,
      description: model.description,
      privacy: model.privacy ?? 'anonymized',
      traits: [...model.traits],
      ...(model.deprecation ? { deprecation: model.deprecation } : {}),
      ...specOf(model),
    },
  }
  // Only a few are parsed, at startup, and compiling the schema would take longer.
  return ModelRecord.parse(record, { jitless: true })
}

type Spec = Partial<ModelRecord['model_spec']>

const specOf = (model: Model): Spec => (specs[model.type] as (model: Model) => Spec)(model)

const textSpec = (model: TextModel) => ({
  availableContextTokens: model.contextTokens,
  maxCompletionTokens: model.maximumCompletionTokens,
  capabilities: model.capabilities,
  pricing: pricing(model.price),
})

/** A vector has no output tokens, so their price is zero. */
const embeddingSpec = ({ dimensions, hasDimensions, maximumInputTokens, price }: EmbeddingModel) => ({
  embeddingDimensions: dimensions,
  supportsCustomDimensions: hasDimensions,
  maxInputTokens: maximumInputTokens,
  pricing: pricing({ ...price, outputPicoUsd: 0n }),
})

const imageSpec = ({ promptCharacters, steps, sideDivisor, price }: ImageModel) => ({
  constraints: { promptCharacterLimit: promptCharacters, steps, widthHeightDivisor: sideDivisor },
  pricing: { generation: pair(price.perImageMicroUsd) },
})

/** Video models have no price in their record, because a quote depends on the request. */
const videoSpec = (model: VideoModel) => ({ constraints: model.constraints })

function pricing({ inputPicoUsd, outputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd }: TextPrice) {
  return {
    input: perMillion(inputPicoUsd),
    output: perMillion(outputPicoUsd),
    ...(cachedInputPicoUsd === undefined ? {} : { cache_input: perMillion(cachedInputPicoUsd) }),
    ...(cacheWritePicoUsd === undefined ? {} : { cache_write: perMillion(cacheWritePicoUsd) }),
  }
}

/** A million tokens at 1 pico-USD cost a micro-USD. */
const perMillion = (picoUsd: bigint) => inBoth(Number(picoUsd) / 1_000_000)

/** A staking credit is worth one USD (brief §5.4). */
const inBoth = (usd: number) => ({ usd, diem: usd })

/** Returns the part of the record specific to models that change images (published contract §6.1, `inpaint`). */
function editSpec({ promptCharacters, aspectRatios, mostImages, price }: EditModel) {
  const resolutions = Object.keys(price.resolutions ?? {})
  const qualities = qualitiesOf(price)
  return {
    constraints: {
      promptCharacterLimit: promptCharacters,
      aspectRatios: [...aspectRatios],
      combineImages: mostImages > 1,
      ...(resolutions[0] === undefined ? {} : { resolutions, defaultResolution: resolutions[0] }),
      ...(qualities[0] === undefined ? {} : { qualities }),
    },
    pricing: {
      inpaint: pair(price.perImageMicroUsd),
      ...(price.resolutions ? { resolutions: pairs(price.resolutions) } : {}),
      ...(price.quality
        ? { quality: Object.fromEntries(Object.entries(price.quality).map(([name, each]) => [name, pairs(each)])) }
        : {}),
    },
  }
}

/** Returns the qualities that a request may ask for, at any resolution. */
export function qualitiesOf({ quality = {} }: EditModel['price']): ('low' | 'medium' | 'high')[] {
  const named = new Set(Object.values(quality).flatMap(Object.keys))
  return (['low', 'medium', 'high'] as const).filter(each => named.has(each))
}

const upscaleSpec = ({ price }: UpscaleModel) => ({
  pricing: { upscale: { '2x': pair(price.twiceMicroUsd), '4x': pair(price.fourTimesMicroUsd) } },
})

const backgroundSpec = ({ price }: BackgroundModel) => ({
  pricing: { generation: pair(price.perImageMicroUsd) },
})

const pair = (amount: MicroUsd) => inBoth(toUsdNumber(amount))

const pairs = (prices: Readonly<Record<string, MicroUsd>>) =>
  Object.fromEntries(Object.entries(prices).map(([name, amount]) => [name, pair(amount)]))

/** Members of the record that only audio models have (published contract §6.1). */

const speechSpec = ({ voices, formats, voiceCloning, price }: SpeechModel) => ({
  voices: [...voices],
  default_voice: voices[0],
  supported_formats: [...formats],
  default_format: formats.includes('mp3') ? 'mp3' : formats[0],
  ...(voiceCloning
    ? {
        voice_cloning: {
          mode: voiceCloning.mode,
          accepted_formats: [...voiceCloning.acceptedFormats],
          min_sample_seconds: voiceCloning.minimumSampleSeconds,
          retention_days: voiceRetentionMs / dayMs,
        },
      }
    : {}),
  pricing: { input: perMillion(price.perCharacterPicoUsd) },
})

const transcriptionSpec = ({ price }: TranscriptionModel) => ({
  pricing: { per_audio_second: inBoth(Number(price.perSecondPicoUsd) / 1e12) },
})

function musicSpec(model: MusicModel) {
  const { durations, promptCharacters, lyrics, voices, speed, formats } = model
  const range =
    'options' in durations
      ? { duration_options: [...durations.options] }
      : { min_duration: durations.least, max_duration: durations.most }
  return {
    ...range,
    default_duration: durations.default,
    prompt_character_limit: promptCharacters.most,
    min_prompt_length: promptCharacters.least,
    supports_lyrics: lyrics !== undefined,
    ...(lyrics ? { lyrics_required: lyrics.areRequired, lyrics_character_limit: lyrics.characters } : {}),
    supports_force_instrumental: model.hasInstrumental,
    ...(voices.length ? { voices: [...voices], default_voice: voices[0] } : {}),
    supports_language_code: model.hasLanguageCode,
    supports_speed: speed !== undefined,
    ...(speed ? { min_speed: speed.least, max_speed: speed.most, default_speed: speed.default } : {}),
    supported_formats: [...formats],
    default_format: formats[0],
    pricing: musicPricing(model),
  }
}

function musicPricing({ price }: MusicModel) {
  const paid = pair(price.microUsd)
  switch (price.per) {
    case 'generation':
      return { generation: paid }
    case 'second':
      return { per_second: paid }
    case 'thousand-characters':
      return { per_thousand_characters: paid }
  }
}

const specs: { [Type in Model['type']]: (model: Extract<Model, { type: Type }>) => Spec } = {
  text: textSpec,
  embedding: embeddingSpec,
  image: imageSpec,
  inpaint: editSpec,
  upscale: upscaleSpec,
  background: backgroundSpec,
  tts: speechSpec,
  asr: transcriptionSpec,
  music: musicSpec,
  video: videoSpec,
}

/** Published contract §12: a model that will be removed announces its removal and its replacement. */

export const isRemoved = ({ deprecation, isOff = false }: Model, nowMs: number): boolean =>
  isOff || (deprecation !== undefined && nowMs >= Date.parse(deprecation.removesAt))

/** Returns the id of its replacement after removal; null if there is none. */
export const replacementOf = ({ deprecation }: Model): string | null =>
  deprecation?.autoRemap ? (deprecation.replacementModelId ?? null) : null

/** Sets the headers that tell callers about a model's deprecation. */
export function tellDeprecation(
  set: <Value>(codec: HeaderCodec<Value>, value: Value) => void,
  { id, deprecation }: Model,
  nowMs: number,
): void {
  if (!deprecation || (deprecation.startsAt !== undefined && nowMs < Date.parse(deprecation.startsAt))) return
  const { removesAt, replacementModelId: replacement } = deprecation
  const end = nowMs < Date.parse(removesAt) ? `is deprecated and will be removed on ${removesAt}` : 'was removed'
  const advice = replacement === undefined ? 'Choose another model.' : `Use ${replacement} instead.`
  set(deprecationWarning, `${id} ${end}. ${advice}`)
  set(deprecationDate, removesAt)
  set(deprecated, true)
  if (replacement !== undefined) set(deprecatedReplacement, replacement)
}

/** Throws a sentence if a model's replacement is unsuitable, or would cost its callers more. */
export function checkDeprecation(model: Model, models: readonly Model[]): void {
  const { id, type, deprecation } = model
  if (!deprecation) return
  const { date, removesAt, startsAt } = deprecation
  for (const moment of [date, removesAt, ...(startsAt === undefined ? [] : [startsAt])]) {
    if (!Number.isFinite(Date.parse(moment)))
      throw new Error(`Model ${id} is deprecated at ${moment}, which is not a valid time.`)
  }
  const replacementId = replacementOf(model)
  if (replacementId === null) return
  const replacement = models.find(other => other.id === replacementId && other.type === type)
  if (!replacement)
    throw new Error(`Model ${id} is to be replaced by ${replacementId}, but there is no such model of its type.`)
  const end = replacement.deprecation && Date.parse(replacement.deprecation.removesAt)
  if (end !== undefined && end <= Date.parse(removesAt)) {
    throw new Error(`Model ${id} cannot be replaced by ${replacementId}, which is removed before it.`)
  }
  const dearer = dearerMember(priceOf(model), priceOf(replacement))
  if (dearer !== null)
    throw new Error(`Model ${id} is to be replaced by ${replacementId}, which costs more (${dearer}).`)
}

type Prices = ReadonlyMap<string, bigint>

/**
 * Returns every amount of a price by name; cache reads and writes without a price of their own cost as much as input.
 */
function priceOf(model: Model): Prices {
  const { price } = model as { price?: object }
  const amounts = new Map(amountsOf(price ?? {}, ''))
  if (model.type === 'text') {
    const { inputPicoUsd, cachedInputPicoUsd = inputPicoUsd, cacheWritePicoUsd = inputPicoUsd } = model.price
    amounts.set('cachedInputPicoUsd', cachedInputPicoUsd).set('cacheWritePicoUsd', cacheWritePicoUsd)
  }
  return amounts
}

const amountsOf = (price: object, before: string): [string, bigint][] =>
  Object.entries(price).flatMap(([name, value]): [string, bigint][] => {
    if (typeof value === 'bigint') return [[`${before}${name}`, value]]
    return typeof value === 'object' && value !== null ? amountsOf(value, `${before}${name} `) : []
  })

/** Returns the first amount that is higher, or that only one of them charges. */
function dearerMember(former: Prices, next: Prices): string | null {
  for (const [name, amount] of next) if ((former.get(name) ?? -1n) < amount) return name
  return [...former.keys()].find(name => !next.has(name)) ?? null
}
