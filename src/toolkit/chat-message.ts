import { zeroUsd } from '#contract/money.ts'
import type { ContentPart } from '#contract/operations/chat.ts'
import type { FileDesk } from './tool-context.ts'
import { ToolFailure } from './tool-failure.ts'

/** What stands beside the words of a question: paths, or addresses where the contract takes them. */
export interface ChatMediaGiven {
  images: readonly string[]
  audio: readonly string[]
  videos: readonly string[]
}

/** The words alone, or with their media in parts, as a chat sends them (brief §4.3). */
export async function chatContent(
  files: FileDesk,
  text: string,
  { images, audio, videos }: ChatMediaGiven,
): Promise<string | ContentPart[]> {
  const media = await Promise.all<ContentPart>([
    ...images.map(async image => ({
      type: 'image_url' as const,
      image_url: { url: await files.asMediaUrl(image, 'image') },
    })),
    ...audio.map(path => soundPart(files, path)),
    ...videos.map(async video => ({
      type: 'video_url' as const,
      video_url: { url: await files.asMediaUrl(video, 'video') },
    })),
  ])
  return media.length === 0 ? text : [{ type: 'text', text }, ...media]
}

async function soundPart(files: FileDesk, path: string): Promise<ContentPart> {
  const { content, type } = await files.asFormFile(path, 'audio')
  const format = formats[type]
  if (!format)
    throw new ToolFailure({
      happened: `A chat takes no sound of the type ${type}.`,
      charged: zeroUsd,
      next: 'Give a path to a WAV, MP3, AAC, Ogg, FLAC or M4A.',
    })
  return { type: 'input_audio', input_audio: { data: Buffer.from(content).toString('base64'), format } }
}

/** Sound is sent as its bytes with the name of their format. */
const formats: Readonly<Record<string, 'wav' | 'mp3' | 'aac' | 'ogg' | 'flac' | 'm4a' | undefined>> = {
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
}
