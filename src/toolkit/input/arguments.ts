import { z } from 'zod'
import type { FileStore, Shown, ToolContext } from '../tool-context.ts'

/** As a request has it: there, left out, or with a value of its own. */
type Member<Bounded extends z.ZodType> = Bounded | z.ZodOptional<Bounded> | z.ZodDefault<Bounded>

/**
 * Arguments whose bounds a call is checked against and the listing does not show: every assistant pays for each word of
 * it, and a wrong value is answered by its bounds. Those are the contract's own, where it has some.
 */
export const plainText = (member: Member<z.ZodString>) => z.string().pipe(boundsOf(member))

export const plainNumber = (member: Member<z.ZodNumber>) => z.number().pipe(boundsOf(member))

const boundsOf = <Bounded extends z.ZodType>(member: Member<Bounded>): Bounded =>
  member instanceof z.ZodOptional || member instanceof z.ZodDefault ? member.unwrap() : member

/** An image as the operations on images take it: an http(s) address as it is, else base64 without a type. */
export async function imageSource(files: FileStore, source: string): Promise<string> {
  const url = await files.asMediaUrl(source, 'image')
  return url.replace(/^data:[^,]*,/i, '')
}

/** Of tools that make something to be seen; a model reads images by the pixel, so none is shown unless asked. */
export const previewArgument = z.boolean().optional()

/** Of tools that cost: a repeat after a lost answer is otherwise answered by what was bought then. */
export const againArgument = z.boolean().optional().describe('true buys another even after a lost answer.')

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
