import { inferenceFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { microUsd } from '#contract/money.ts'
import type { VideoTranscript, VideoTranscriptionRequest } from '#contract/operations/video-transcription.ts'
import { augmentMicroUsd } from '#contract/operations/web.ts'
import { sniffType } from '#contract/wire/media-type.ts'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import { boundedWait } from '#host/async.ts'
import { type Call, json, type WholeReply } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { unset, webPiecePrice } from '../web/web-use.ts'

/** Of a video whose words are written down: an hour of a talk in 480p. */
const transcribedBytes = 100 * 1024 * 1024

/** Until all of it is here. */
const transcribedFetchMs = 60_000

/** Until its words are. */
const transcriptMs = 600_000

/** The words of a video. It is fetched here, guarded, and its engine never sees the address; a failure is free. */
export async function answerVideoTranscription(call: Call, body: VideoTranscriptionRequest, service: Service) {
  const { transcriber } = service
  if (!transcriber) {
    throw unset(
      'Transcripts of videos are not set up on this service. Send the text itself, or ask its operator for it.',
    )
  }
  return sell(call, { model: null, amount: microUsd(augmentMicroUsd) }, service, async () => {
    const { signal } = call
    const video = await fetchVideo(body.url, call)
    const transcript = await boundedWait(transcriber.transcribe({ ...video, signal }), {
      signal,
      timeoutMs: transcriptMs,
    }).catch(error => {
      signal.throwIfAborted()
      if (error instanceof ServiceError) throw error
      service.log.warn({ err: error }, 'A video could not be transcribed.')
      throw inferenceFailed()
    })
    const reply = replyOf(transcript, body.response_format)
    return { value: reply, lines: [webPiecePrice('video.transcription')], alsoCommit: () => call.keep(() => reply) }
  })
}

async function fetchVideo(url: string, { fetcher, signal }: Pick<Call, 'fetcher' | 'signal'>) {
  const order = { url, mostBytes: transcribedBytes, timeoutMs: transcribedFetchMs, accept: 'video/*', signal }
  const { bytes, mimeType } = await fetcher.fetch(order).catch(error => {
    throw error instanceof FetchRefused ? fieldError(['url'], error.message) : error
  })
  if (!isVideo(bytes))
    throw fieldError(['url'], 'leads to no video: give the address of an MP4, MOV or WebM file itself')
  return { bytes, mimeType }
}

/** An MP4 may hold audio alone, which can be transcribed as well. */
function isVideo(bytes: Buffer): boolean {
  const type = sniffType(bytes)
  return type === 'audio/mp4' || type?.startsWith('video/') === true
}

function replyOf(
  { transcript, lang }: VideoTranscript,
  format: VideoTranscriptionRequest['response_format'],
): WholeReply {
  if (format === 'text') return { kind: 'bytes', mimeType: 'text/plain; charset=utf-8', bytes: Buffer.from(transcript) }
  return json({ transcript, ...(lang === undefined ? {} : { lang }) } satisfies VideoTranscript)
}
