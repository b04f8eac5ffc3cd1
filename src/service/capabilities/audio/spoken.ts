import { inferenceFailed } from '#contract/errors/errors.ts'
import type { SpokenText } from '#engines/ports/media-engines.ts'
import { speechBytes } from '#engines/sound/bounds.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { SpeechModel } from '../../models/model.ts'

/** One text to speak, and with what. */
export interface Speech {
  model: SpeechModel
  request: SpokenText
}

/** The sound of a text. Throws what its engine throws, and where that is nothing that can be sold. */
export async function spoken({ model, request }: Speech, signal: AbortSignal): Promise<Buffer> {
  const { engine, engineModel } = model
  const bytes = await boundedWait(engine.speak({ request, engineModel, signal }), { signal })
  if (bytes.length === 0 || bytes.length > speechBytes) throw inferenceFailed()
  return bytes
}
