import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { Line } from '#ledger/store/units.ts'
import type { SpeechModel, TranscriptionModel } from '../../models/audio-models.ts'

/** Characters as people count them, not as the language of the program does. */
export const charactersOf = (text: string): number => [...text].length

/** One line for all characters; the amount is what is held before as well. */
export const speechLines = ({ price }: Pick<SpeechModel, 'price'>, characters: number): Line[] =>
  lineOf('speech.character', characters, price.perCharacterPicoUsd)

export const speechPrice = (model: Pick<SpeechModel, 'price'>, characters: number): MicroUsd =>
  addUsd(...speechLines(model, characters).map(({ amount }) => amount))

/** Begun seconds. */
export const transcriptionLines = ({ price }: Pick<TranscriptionModel, 'price'>, seconds: number): Line[] =>
  lineOf('transcription.second', Math.max(1, Math.ceil(seconds)), price.perSecondPicoUsd)

export const transcriptionPrice = (model: Pick<TranscriptionModel, 'price'>, seconds: number): MicroUsd =>
  addUsd(...transcriptionLines(model, seconds).map(({ amount }) => amount))

function lineOf(sku: string, count: number, unitPricePicoUsd: bigint): Line[] {
  const line = { sku, units: BigInt(count), unitPricePicoUsd }
  return priceLines([line]).map(amount => ({ ...line, amount }))
}
