import { z } from 'zod'
import { strangeId } from './from-outside.ts'
import { paidOutput, paidShape, sayPaid } from './paid.ts'
import type { Made, SavedFile } from './tool-context.ts'

const File = z.object({ path: z.string(), mime_type: z.string(), bytes: z.number() })

/** What tools show of pictures or sound that a call made; the files themselves lie in the output folder. */
export const MadeOutput = z.object({
  /** The one that the service names, else the one that was asked for; null where neither is. */
  model: z.string().nullable(),
  files: z.array(File),
  /** By the service's content policy. */
  is_blurred: z.boolean().optional(),
  ...paidShape,
})
export type MadeOutput = z.output<typeof MadeOutput>

export const madeOutput = ({ files, model, isBlurred, paid }: Made, asked: string | undefined): MadeOutput => ({
  model: strangeId(model ?? asked ?? '') || null,
  files: files.map(savedFile),
  ...(isBlurred ? { is_blurred: true } : {}),
  ...paidOutput(paid),
})

export const savedFile = ({ path, mimeType, bytes }: SavedFile): z.output<typeof File> => ({
  path,
  mime_type: mimeType,
  bytes,
})

export const sayMade = (output: MadeOutput): string =>
  [
    ...output.files.map(({ path, mime_type, bytes }) => `Saved: ${path} (${mime_type}, ${bytes} bytes).`),
    ...(output.is_blurred ? ['The service blurred what is against its content policy.'] : []),
    sayPaid(output),
  ].join('\n')

export const madeFiles = ({ files }: MadeOutput): { path: string; mimeType: string }[] =>
  files.map(({ path, mime_type }) => ({ path, mimeType: mime_type }))
