import { z } from 'zod'
import type { FileStore } from '../tool-context.ts'

/** A member of a request: required, optional, or with a default. */
type Member<Bounded extends z.ZodType> = Bounded | z.ZodOptional<Bounded> | z.ZodDefault<Bounded>

/**
 * An argument whose limits are checked but not listed: every assistant pays for each word of the listing, and the
 * answer to a wrong value states the limits. They are the contract's own, if it has any.
 */
export const plainText = (member: Member<z.ZodString>) => z.string().pipe(boundsOf(member))

export const plainNumber = (member: Member<z.ZodNumber>) => z.number().pipe(boundsOf(member))

const boundsOf = <Bounded extends z.ZodType>(member: Member<Bounded>): Bounded =>
  member instanceof z.ZodOptional || member instanceof z.ZodDefault ? member.unwrap() : member

/** Returns an image as image operations expect it: an http(s) address unchanged, else base64 without a type. */
export async function imageSource(files: FileStore, source: string): Promise<string> {
  const url = await files.asMediaUrl(source, 'image')
  return url.replace(/^data:[^,]*,/i, '')
}

/**
 * For tools that make something visible: leaves out the preview that clients show by default, or adds one for a
 * program.
 */
export const previewArgument = z.boolean().optional()

/** For paid tools: without it, a repeat after a lost answer returns what was bought then. */
export const againArgument = z.boolean().optional().describe('true pays again, even if an answer was lost.')
