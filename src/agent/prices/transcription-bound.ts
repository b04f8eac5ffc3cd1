import type { MicroUsd } from '#contract/money.ts'
import { TranscriptionRequest } from '#contract/operations/audio.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { hasOtherMembers } from './chat-extras.ts'
import { mostOfAnswering } from './most-of-answering.ts'
import { dearestOf, hasOnly, unitsAt } from './unit-price.ts'

/** The most that a recording of at most so many seconds can cost to be written down; null where nobody can say how long it is. */
export function transcriptionBound(
  record: ModelRecord,
  { body, mostSeconds }: { body: object; mostSeconds: number | null },
  records: readonly ModelRecord[] = [record],
): MicroUsd | null {
  if (mostSeconds === null || hasOtherMembers(body, TranscriptionRequest.shape)) return null
  return mostOfAnswering(record, records, ({ model_spec: { pricing } }) =>
    pricing && !('output' in pricing) && hasOnly(pricing, ['per_audio_second'])
      ? unitsAt(mostSeconds, dearestOf([pricing.per_audio_second]))
      : null,
  )
}
