import type { MicroUsd } from '#contract/money.ts'
import { SpeechRequest } from '#contract/operations/audio.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'
import { dearestOf, hasOnly, unitsAt } from './unit-price.ts'

/** The most that a spoken text can cost: a character is a byte at least, however its service counts them. */
export function speechBound(
  record: ModelRecord,
  body: Pick<SpeechRequest, 'input'>,
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (hasOtherMembers(body, SpeechRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) => {
    const million = hasOnly(pricing, ['input']) ? dearestOf([pricing?.input]) : null
    // Rounded up where the price of one is finer than a pico-USD.
    const one = million === null ? null : (million + millionCharacters - 1n) / millionCharacters
    return unitsAt(Buffer.byteLength(body.input), one)
  })
}

const millionCharacters = 1_000_000n
