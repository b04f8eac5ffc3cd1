import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ContentPart } from '#contract/operations/chat.ts'
import { isWhole } from '#engines/audio/audio-codec.ts'
import { type AudioType, audioTypeNames, audioTypeOf } from '#engines/audio/recording.ts'
import { fromBase64 } from '#engines/images/image-file.ts'
import { audioBytes, isVideoFormat, mediaFormat, mimeTypes, videoBytes } from '#engines/video-media/request-media.ts'

type AudioPart = Extract<ContentPart, { type: 'input_audio' }>
type AudioFormat = NonNullable<AudioPart['input_audio']['format']>
type VideoPart = Extract<ContentPart, { type: 'video_url' }>
type Path = readonly (string | number)[]

/** Audio or video that a request brings along, and where it stands there. */
interface SentMedium {
  path: Path
  part: AudioPart | VideoPart
}

/** The audio of a conversation, and its videos that are data URLs. */
export const sentMediaIn = ({ messages }: ChatCompletionRequest): SentMedium[] =>
  messages.flatMap(({ content }, index) =>
    Array.isArray(content)
      ? content.flatMap((part: ContentPart, place) => {
          const isSent =
            part.type === 'input_audio' || (part.type === 'video_url' && /^data:/i.test(part.video_url.url))
          return isSent ? [{ path: ['messages', index, 'content', place, part.type], part }] : []
        })
      : [],
  )

/**
 * Nobody pays for media that no engine could read: each is of the format that it is said to be, by its bytes, and whole.
 * Throws `invalidRequest` that names the field, `modelOverloaded`, or the signal's reason.
 */
export async function checkSentMedia(media: readonly SentMedium[], signal: AbortSignal): Promise<void> {
  for (const { path, part } of media) {
    if (part.type === 'input_audio') await checkAudio([...path], part.input_audio, signal)
    else await checkedVideoType([...path, 'url'], bytesOf([...path, 'url'], part.video_url.url), signal)
  }
}

/** Of each format that has a header; the others are told by the caller alone. */
const soundTypes: Partial<Record<AudioFormat, AudioType>> = {
  ...{ wav: 'wav', mp3: 'mp3', aac: 'aac', ogg: 'ogg', flac: 'flac', m4a: 'mp4' },
}
const sampleBytes: Partial<Record<AudioFormat, number>> = { pcm16: 2, pcm24: 3 }

async function checkAudio(path: Path, { data, format }: AudioPart['input_audio'], signal: AbortSignal): Promise<void> {
  const at = [...path, 'data']
  const bytes = bytesOf(at, data)
  if (bytes.length > audioBytes) throw fieldError(at, `may have ${audioBytes} bytes at most`)
  const samples = format && sampleBytes[format]
  if (samples) {
    if (bytes.length % samples) throw fieldError(at, `has no whole number of samples of ${samples} bytes`)
    return
  }
  if (format === 'aiff') return checkAiff(at, bytes)
  const type = audioTypeOf(bytes)
  if (!type) throw fieldError(at, `the bytes are none of the formats ${audioTypeNames}`)
  if (format && soundTypes[format] !== type) {
    throw fieldError([...path, 'format'], `is ${format}, and the bytes are ${type}; name the format that they have`)
  }
  if (!(await isWhole({ bytes, type }, signal))) throw fieldError(at, `the ${type} file is cut off or damaged`)
}

/** One chunk that holds all others, and is as long as it says. */
function checkAiff(path: Path, bytes: Buffer): void {
  const isAiff = /^FORM.{4}AIF[FC]$/s.test(bytes.toString('latin1', 0, 12))
  if (!isAiff) throw fieldError(path, 'the bytes are no AIFF')
  if (bytes.readUInt32BE(4) + 8 > bytes.length) throw fieldError(path, 'the aiff file is cut off or damaged')
}

/** Base64, alone or as a data URL. */
function bytesOf(path: Path, text: string): Buffer {
  const head = /^data:[^,]{0,200};base64,/i.exec(text)?.[0] ?? ''
  const bytes = fromBase64(text.slice(head.length))
  if (!bytes) throw fieldError(path, 'holds no valid base64')
  return bytes
}

/** The packs of an MPEG stream begin so, and the sequences of one without packs. */
const mpeg = [Buffer.from('000001ba', 'hex'), Buffer.from('000001b3', 'hex')]

/** What a video is by its bytes. An MPEG stream has no end that tells whether it is whole. Throws as `checkSentMedia` does. */
export async function checkedVideoType(path: Path, bytes: Buffer, signal: AbortSignal): Promise<string> {
  if (bytes.length > videoBytes) throw fieldError(path, `may have ${videoBytes} bytes at most`)
  if (mpeg.some(start => bytes.subarray(0, 4).equals(start))) return 'video/mpeg'
  const format = mediaFormat(bytes)
  if (!format || !isVideoFormat(format)) throw fieldError(path, 'the bytes are no MP4, MPEG, MOV or WebM')
  // MOV has the structure of MP4.
  const type = format === 'webm' ? 'webm' : 'mp4'
  if (!(await isWhole({ bytes, type }, signal))) throw fieldError(path, `the ${format} file is cut off or damaged`)
  return mimeTypes[format]
}
