import { fieldError } from '#contract/errors/issues.ts'
import { addUsd, type MicroUsd, priceLines } from '#contract/money.ts'
import type { Line } from '#ledger/store/units.ts'
import type { MusicModel, SpeechModel, TranscriptionModel } from '../../models/model.ts'

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

/** What a price may depend on. */
interface MusicSize {
  seconds: number | undefined
  characters: number | undefined
}

const picoPerMicro = 1_000_000n

/** What a piece of music costs: the answer of a quote and, by the same lines, the charge. Throws `invalidRequest` where the size says too little. */
export function quoteMusic(model: MusicModel, size: MusicSize): { total: MicroUsd; lines: Line[] } {
  const line = pricedUnit(model, size)
  const lines = priceLines([line]).map(amount => ({ ...line, amount }))
  return { total: addUsd(...lines.map(({ amount }) => amount)), lines }
}

function pricedUnit({ id, price, durations }: MusicModel, { seconds, characters }: MusicSize) {
  const picoUsd = price.microUsd * picoPerMicro
  switch (price.per) {
    case 'generation':
      return { sku: 'music.generation', units: 1n, unitPricePicoUsd: picoUsd }
    case 'second':
      return { sku: 'music.second', units: BigInt(seconds ?? durations.default), unitPricePicoUsd: picoUsd }
    case 'thousand-characters':
      if (characters === undefined)
        throw fieldError(['character_count'], `${id} is priced by the characters of its prompt`)
      return { sku: 'music.character', units: BigInt(characters), unitPricePicoUsd: picoUsd / 1_000n }
  }
}
