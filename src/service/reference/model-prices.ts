import { displayUsd, microUsd, toUsdNumber } from '#contract/money.ts'
import type { OperationId } from '#contract/operations/examples.ts'
import type { ModelRecord, ModelType } from '#contract/operations/models.ts'
import { rpcCredits } from '#contract/operations/rpc.ts'
import { augmentMicroUsd } from '#contract/operations/web.ts'
import type { Catalogue } from '../models/catalogue.ts'

const aCall = `${displayUsd(microUsd(augmentMicroUsd))} a call`
const byCredits = `${rpcCredits.picoUsd / 1_000n} × 10⁻⁹ USD a credit; a call takes ${rpcCredits.base} credits or more, by its method`

/** Prices of operations that use no model. */
const callPrices: Partial<Record<OperationId, string>> = {
  webSearch: aCall,
  webScrape: aCall,
  createTextParser: aCall,
  createVideoTranscription: aCall,
  cryptoRpcProxy: byCredits,
}

/** Null if the operation's price is that of a model. */
export const callPrice = (id: string): string | null => callPrices[id as OperationId] ?? null

/** The unit of a price, by the member of the record and the model's type. */
function unitOf(member: string, type: ModelType): string {
  const units: Readonly<Record<string, string>> = {
    input: type === 'tts' ? 'per million characters' : 'per million input tokens',
    output: 'per million output tokens',
    cache_input: 'per million cached input tokens',
    cache_write: 'per million tokens written to the cache',
    generation: type === 'music' ? 'per recording' : 'per image',
    inpaint: 'per image',
    per_audio_second: 'per second of audio',
    per_second: 'per second',
    per_thousand_characters: 'per thousand characters',
    '2x': 'per image at 2×',
    '4x': 'per image at 4×',
  }
  return units[member] ?? `for ${member}`
}

/** A model's prices as text, from its record in `/models`. A video's price depends on the request. */
export function modelPrices({ type, model_spec: { pricing } }: ModelRecord): string[] {
  if (!pricing) return [type === 'video' ? 'depends on the request; the quote operation returns it' : '']
  return pricesIn(pricing, []).map(({ path, usd }) => {
    const member = path.at(-1) ?? ''
    const before = path.slice(0, -1).filter(name => name !== 'upscale')
    return `${usd} USD ${unitOf(member, type)}${before.length > 0 ? ` (${before.join(', ')})` : ''}`
  })
}

/** The prices of a model for operators, who also see the price of a second of video. */
export function operatorPricesOf(id: string, catalogue: Pick<Catalogue, 'models' | 'recordOf'>): string[] {
  const model = catalogue.models.find(each => each.id === id)
  const record = catalogue.recordOf(id)
  if (!model || !record) return []
  if (model.type !== 'video') return modelPrices(record).filter(text => text !== '')
  const { perSecondMicroUsd, audioPerSecondMicroUsd, referencePerSecondMicroUsd = 0n } = model.price
  const extra = [
    ['with audio, in addition', audioPerSecondMicroUsd],
    ['of reference video', referencePerSecondMicroUsd],
  ] as const
  const perSecond = (usd: bigint, of: string) => `${toUsdNumber(usd)} USD per second${of === '' ? '' : ` (${of})`}`
  return [
    ...Object.entries(perSecondMicroUsd).map(([choice, usd]) => perSecond(usd, choice)),
    ...extra.filter(([, usd]) => usd > 0n).map(([of, usd]) => perSecond(usd, of)),
  ]
}

interface FoundPrice {
  path: string[]
  usd: number
}

function pricesIn(value: unknown, path: string[]): FoundPrice[] {
  if (typeof value !== 'object' || value === null) return []
  if ('usd' in value && typeof value.usd === 'number') return [{ path, usd: value.usd }]
  // If the output costs nothing, it is an embedding, which has no output tokens.
  return Object.entries(value)
    .flatMap(([name, each]) => pricesIn(each, [...path, name]))
    .filter(({ usd }) => usd > 0)
}
