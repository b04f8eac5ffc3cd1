import { toUsdNumber } from '#contract/money.ts'
import { ModelRecord } from '#contract/operations/models.ts'
import { musicSpec, speechSpec, transcriptionSpec } from './audio-records.ts'
import type { EmbeddingModel, ImageModel, Model, TextModel, TextPrice, VideoModel } from './model.ts'
import { backgroundSpec, editSpec, upscaleSpec } from './picture-record.ts'

/** The public record of a model; strict, so that a member that the contract does not know is found at start. */
export function modelRecord(model: Model, ownedBy: string): ModelRecord {
  return ModelRecord.parse({
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
  })
}

function specOf(model: Model): Partial<ModelRecord['model_spec']> {
  switch (model.type) {
    case 'text':
      return textSpec(model)
    case 'embedding':
      return embeddingSpec(model)
    case 'image':
      return imageSpec(model)
    case 'inpaint':
      return editSpec(model)
    case 'upscale':
      return upscaleSpec(model)
    case 'background':
      return backgroundSpec(model)
    case 'tts':
      return speechSpec(model)
    case 'asr':
      return transcriptionSpec(model)
    case 'music':
      return musicSpec(model)
    case 'video':
      return videoSpec(model)
  }
}

const textSpec = (model: TextModel) => ({
  availableContextTokens: model.contextTokens,
  maxCompletionTokens: model.maximumCompletionTokens,
  capabilities: model.capabilities,
  pricing: pricing(model.price),
})

/** A vector has no tokens of its own, so its price is nothing. */
const embeddingSpec = ({ dimensions, hasDimensions, maximumInputTokens, price }: EmbeddingModel) => ({
  embeddingDimensions: dimensions,
  supportsCustomDimensions: hasDimensions,
  maxInputTokens: maximumInputTokens,
  pricing: pricing({ ...price, outputPicoUsd: 0n }),
})

const imageSpec = ({ promptCharacters, steps, sideDivisor, price }: ImageModel) => {
  const usd = toUsdNumber(price.perPictureMicroUsd)
  return {
    constraints: { promptCharacterLimit: promptCharacters, steps, widthHeightDivisor: sideDivisor },
    pricing: { generation: { usd, diem: usd } },
  }
}

/** Video models have no price in their record: ask for a quote. */
const videoSpec = (model: VideoModel) => ({ constraints: model.constraints })

function pricing({ inputPicoUsd, outputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd }: TextPrice) {
  return {
    input: perMillion(inputPicoUsd),
    output: perMillion(outputPicoUsd),
    ...(cachedInputPicoUsd === undefined ? {} : { cache_input: perMillion(cachedInputPicoUsd) }),
    ...(cacheWritePicoUsd === undefined ? {} : { cache_write: perMillion(cacheWritePicoUsd) }),
  }
}

/** A million tokens at 1 pico-USD are a micro-USD; a staking credit is worth a USD (brief §5.4). */
function perMillion(picoUsd: bigint) {
  const usd = Number(picoUsd) / 1_000_000
  return { usd, diem: usd }
}
