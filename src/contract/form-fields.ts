import { z } from 'zod'

/** A part of a form that is a file: its bytes, with the name and the type that its sender gave it, which prove nothing. */
export const UploadedFile = z.file()
export type UploadedFile = z.output<typeof UploadedFile>

/** For bodies that may also come as a form, where all values are texts. */
export const FormBoolean = z.union([z.boolean(), z.enum(['true', 'false']).transform(text => text === 'true')])

const digits = /^-?\d{1,15}(\.\d{1,15})?$/

/** A number of this kind, or its text in a form. */
export const formNumber = (number: z.ZodNumber) =>
  z.union([number, z.string().regex(digits, 'a number').transform(Number).pipe(number)])
