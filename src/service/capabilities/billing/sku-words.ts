import { toUsdNumber } from '#contract/money.ts'
import type { Model } from '../../models/model.ts'
import { inProportion, type ModelTotal } from './usage-totals.ts'

/** What a product is counted in, by the words of its name; the first that fits. */
const unitWords: readonly [words: RegExp, unit: string][] = [
  [/^(chat|embedding|response)/, 'tokens'],
  [/^image/, 'images'],
  [/second/, 'seconds'],
  [/minute/, 'minutes'],
  [/char/, 'chars'],
]

/** Of a model with several products, what most of them are counted in is what the first is. */
export const unitTypeOf = ([sku = '']: readonly string[]): string =>
  unitWords.find(([words]) => words.test(sku))?.[1] ?? 'requests'

const typeWords: Readonly<Record<string, string>> = {
  text: 'LLM',
  image: 'IMAGE',
  inpaint: 'IMAGE',
  upscale: 'IMAGE',
  background: 'IMAGE',
  tts: 'TTS',
  asr: 'ASR',
  video: 'VIDEO',
}

/** Null where the published contract has no word for it. A model that is gone is told by what it was charged for. */
export function modelTypeOf(type: Model['type'] | undefined, [sku = '']: readonly string[]): string | null {
  if (type) return typeWords[type] ?? null
  if (sku.startsWith('chat')) return 'LLM'
  if (sku.startsWith('speech')) return 'TTS'
  if (sku.startsWith('transcription')) return 'ASR'
  return /^(image|video)/.exec(sku)?.[0].toUpperCase() ?? null
}

const lineWords: readonly [words: RegExp, type: string][] = [
  [/input\.cache_write/, 'Cache Write'],
  [/input\.cache/, 'Cache Read'],
  [/input/, 'Input'],
  [/output/, 'Output'],
]

const lineType = (sku: string): string => lineWords.find(([words]) => words.test(sku))?.[1] ?? sku

/** By the kind of line. What was paid is split as the prices of the lines are, because it was paid for them together. */
export function breakdownOf({ usd, diem, bySku }: ModelTotal) {
  const types = new Map<string, { price: bigint; units: bigint }>()
  for (const [sku, { price, units }] of bySku) {
    const known = types.get(lineType(sku)) ?? { price: 0n, units: 0n }
    types.set(lineType(sku), { price: known.price + price, units: known.units + units })
  }
  const lines = [...types]
  const prices = lines.map(([, { price }]) => price)
  const [usdParts, diemParts] = [inProportion(usd, prices), inProportion(diem, prices)]
  return lines.map(([type, { units }], index) => ({
    type,
    usd: toUsdNumber(usdParts[index] ?? 0n),
    diem: toUsdNumber(diemParts[index] ?? 0n),
    units: Number(units),
  }))
}
