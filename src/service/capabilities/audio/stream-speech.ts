import { inferenceFailed } from '#contract/errors/errors.ts'
import { type SpeechFormat, speechTypes } from '#contract/operations/audio.ts'
import type { SpokenText } from '#engines/ports/media-engines.ts'
import { speechBytes } from '#engines/sound/bounds.ts'
import { pcmRate } from '#engines/sound/encode-sound.ts'
import { wavHeader } from '#engines/sound/wav.ts'
import { boundedWait } from '#host/bounded-wait.ts'
import type { Charge } from '#ledger/charges/charge.ts'
import { type Metered, streamWithCharge } from '#ledger/charges/charges.ts'
import { type Call, type PiecesReply, principalOf } from '../../http/call.ts'
import { workAfterLeavingMs } from '../../http/idempotency/bounds.ts'
import { requireFunds, tellRemaining } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { SpeechModel } from '../../models/model.ts'
import { charactersOf, speechLines, speechPrice } from './price-audio.ts'

/**
 * Each sentence as soon as it is spoken. The whole text is held; the sentences that were spoken are charged, the one that
 * was begun when its caller left included: like a whole answer it is spoken to its end.
 */
export async function streamSpeech(call: Call, speech: Speech, service: Service): Promise<PiecesReply> {
  const { model, request } = speech
  const amount = speechPrice(model, charactersOf(request.text))
  await requireFunds(call, amount)
  const { requestId, holdId, signal } = call
  const order = { request: requestId, holdId, principal: principalOf(call), model: model.id, amount }
  const { charge, events } = await streamWithCharge(service.charges, order, signal, open => {
    open.whenEnded(call.stay())
    return metered(call, speech, open)
  })
  // An engine that fails before its first sentence is answered with a status.
  const first = await events.next()
  tellRemaining(call, charge.heldAvailableMicroUsd)
  return { kind: 'pieces', mimeType: speechTypes[request.format], pieces: after(first, events) }
}

function metered(call: Call, speech: Speech, charge: Charge): Metered<Buffer> {
  const stop = new AbortController()
  let characters = 0
  let late: NodeJS.Timeout | null = null
  charge.whenEnded(() => late && clearTimeout(late))
  return {
    events: sentences(speech, stop.signal, count => {
      characters += count
    }),
    owed: () => (characters ? speechLines(speech.model, characters) : []),
    leave() {
      call.unread()
      late ??= setTimeout(() => stop.abort(), workAfterLeavingMs).unref()
    },
  }
}

async function* sentences({ model, request }: Speech, signal: AbortSignal, sold: (characters: number) => void) {
  // Parts of a WAV are its samples: its header goes out once.
  const format: SpeechFormat = request.format === 'wav' ? 'pcm' : request.format
  let before = request.format === 'wav' ? wavHeader(pcmRate) : Buffer.alloc(0)
  for (const text of sentencesOf(request.text)) {
    signal.throwIfAborted()
    const bytes = await spoken({ model, request: { ...request, text, format } }, signal)
    sold(charactersOf(text))
    yield Buffer.concat([before, bytes])
    before = Buffer.alloc(0)
  }
}

/** Not a generator: one that was never started would not end the charge when its reader leaves. */
function after(first: IteratorResult<Buffer>, rest: AsyncIterableIterator<Buffer>): AsyncIterableIterator<Buffer> {
  let step: IteratorResult<Buffer> | null = first
  return {
    async next() {
      const now = step
      step = null
      return now ?? rest.next()
    },
    async return() {
      await rest.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** One text to speak, and with what. */
export interface Speech {
  model: SpeechModel
  request: SpokenText
}

/** The audio of a text. Throws the engine's error, and `inferenceFailed` for audio that cannot be sold. */
export async function spoken({ model, request }: Speech, signal: AbortSignal): Promise<Buffer> {
  const { engine, engineModel } = model
  const bytes = await boundedWait(engine.speak({ request, engineModel, signal }), { signal })
  if (bytes.length === 0 || bytes.length > speechBytes) throw inferenceFailed()
  return bytes
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Splits a text into the pieces that are spoken one by one. A piece without a letter or digit stays with the one before. */
function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  for (const { segment } of segmenter.segment(text)) {
    const last = sentences.length - 1
    if (last >= 0 && !/[\p{L}\p{N}]/u.test(segment)) sentences[last] += segment
    else sentences.push(segment)
  }
  return sentences
}
