import type { FileDesk } from './tool-context.ts'

/** A picture as the operations on pictures take it: an http(s) address as it is, else base64 without a type. */
export async function pictureSource(files: FileDesk, source: string): Promise<string> {
  const url = await files.asMediaUrl(source, 'image')
  return url.replace(/^data:[^,]*,/i, '')
}
