import { z } from 'zod'
import type { Shown } from './shown.ts'
import type { ToolContext } from './tool-context.ts'

/** Of tools that make something to be seen; a model reads pictures by the pixel, so none is shown unless asked. */
export const previewArgument = z.boolean().optional()

interface ShownFile {
  path: string
  mime_type: string
  bytes: number
}

/** The first of the files made small, where it was asked for and can be seen. */
export async function previewOf(
  file: ShownFile | null | undefined,
  { context, input }: { context: ToolContext; input: { preview?: boolean | undefined } },
): Promise<Shown[]> {
  if (!input.preview || !file || !/^(?:image|video)\//.test(file.mime_type)) return []
  return [await context.files.preview({ path: file.path, mimeType: file.mime_type, bytes: file.bytes })]
}
