import { inferenceFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { ChatCompletion } from '#contract/operations/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import { verdictOf } from '#engines/upstreams/upstream.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { TextModel } from '../../models/model.ts'

/** A whole answer of a model's engine. Throws what the engine throws, and `inferenceFailed` for one without a choice. */
export async function answeredBy({ engine }: TextModel, call: ChatCall): Promise<ChatCompletion> {
  const completion = await boundedWait(engine.complete(call), { signal: call.signal })
  if (!completion.choices.length) throw inferenceFailed()
  return completion
}

/** Whether an engine would not take a request for what is in it, which its caller chose, and did not fail by itself. */
export const isRefused = (error: unknown): boolean => error instanceof ServiceError && verdictOf(error) === 'answered'
