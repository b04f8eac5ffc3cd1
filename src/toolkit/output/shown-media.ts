import type { MediaBounds, Shown, ToolContext } from '../tool-context.ts'

interface ShownFile {
  path: string
  mime_type: string
  bytes: number
}

interface Call {
  context: ToolContext
  input: { preview?: boolean | undefined }
}

/** For a program that asks for a preview; it reads recordings from their files. */
const forPrograms: MediaBounds = { images: 1, imagePixels: 512, imageBytes: 100_000, audioBytes: 0 }

/**
 * The media that a call made, as blocks for a client: small versions of images, and short recordings. A frame of a
 * video is included only on request. The files themselves are linked, so an omitted block loses nothing.
 */
export async function shownMedia(files: readonly ShownFile[], { context, input }: Call): Promise<Shown[]> {
  const { preview } = input
  const bounds = context.shows ?? (preview ? forPrograms : null)
  if (bounds === null || preview === false) return []
  const seen = files.filter(file => isOf(file, 'image') || (preview && isOf(file, 'video'))).slice(0, bounds.images)
  const [heard] = files.filter(file => isOf(file, 'audio'))
  const shown = await Promise.all([
    ...seen.map(file => context.files.preview(saved(file), bounds)),
    ...(heard && heard.bytes <= bounds.audioBytes ? [context.files.recording(saved(heard))] : []),
  ])
  // The reason for a missing preview is shown only if a preview was requested.
  return shown.filter(block => block !== null).filter(({ type }) => preview || type !== 'text')
}

const isOf = ({ mime_type }: ShownFile, kind: 'image' | 'video' | 'audio'): boolean => mime_type.startsWith(`${kind}/`)

const saved = ({ path, mime_type, bytes }: ShownFile) => ({ path, mimeType: mime_type, bytes })
