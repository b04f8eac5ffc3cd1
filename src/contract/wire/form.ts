import { z } from 'zod'
import { formLimits } from '../limits.ts'
import { utf8Text } from './json.ts'

/** A file in a form: its bytes, with the name and type that its sender claims, which prove nothing. */
export const UploadedFile = z.file()
export type UploadedFile = z.output<typeof UploadedFile>

/** For bodies that may also be forms, in which every value is a string. */
export const FormBoolean = z.union([z.boolean(), z.enum(['true', 'false']).transform(text => text === 'true')])

const digits = /^-?\d{1,15}(\.\d{1,15})?$/

/** A number of this kind, or in a form a string of its digits. */
export const formNumber = (number: z.ZodNumber) =>
  z.union([number, z.string().regex(digits, 'a number').transform(Number).pipe(number)])

/** A field's text or file; a list if the name occurs more than once or ends in `[]`. */
export type FormFields = Record<string, unknown>

type ParsedForm = { ok: true; fields: FormFields } | { ok: false; reason: string }

/** A part as it was sent. `filename` and `type` are the sender's claims, and prove nothing. */
export interface FormPart {
  name: string
  content: string | { filename: string; type: string; bytes: Buffer }
}

type FormParts = { ok: true; parts: FormPart[] } | { ok: false; reason: string }

/** Returns the boundary of a `multipart/form-data` content type; null if it is another type or has none. */
export function formBoundary(contentType: string | undefined): string | null {
  const [mediaType = '', ...parameters] = (contentType ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== 'multipart/form-data') return null
  const given = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(`;${parameters.join(';')}`)
  return given?.[1] ?? given?.[2] ?? null
}

const lineEnd = '\r\n'

/** Parses the fields of a form (RFC 7578). Never throws. */
export function parseForm(body: Buffer, boundary: string): ParsedForm {
  const read = formParts(body, boundary)
  return read.ok
    ? { ok: true, fields: fieldsOf(read.parts, ({ filename, type, bytes }) => fileOf(bytes, filename, type)) }
    : read
}

const fileOf = (bytes: Buffer, name: string, type: string): File => new File([new Uint8Array(bytes)], name, { type })

/**
 * Returns a form's parts in order, read in one pass with the runtime's own byte searches, because a file of 25 MB must
 * not delay the process's other requests. Never throws; the parts share the bytes of `body`.
 */
export function formParts(body: Buffer, boundary: string): FormParts {
  const delimiter = `--${boundary}`
  const parts: FormPart[] = []
  let at = body.indexOf(delimiter)
  if (at < 0 || (at > 0 && body.subarray(at - 2, at).toString('latin1') !== lineEnd))
    return faulty('does not begin with its boundary')
  for (let count = 0; ; count++) {
    at += delimiter.length
    const after = body.subarray(at, at + 2).toString('latin1')
    if (after === '--') return { ok: true, parts }
    if (after !== lineEnd) return faulty('is incomplete, or has a line that is not a boundary')
    if (count === formLimits.parts) return faulty(`has more than ${formLimits.parts} parts`)
    const end = body.indexOf(`${lineEnd}${delimiter}`, at)
    if (end < 0) return faulty('ends before its last boundary')
    const part = partOf(body.subarray(at + 2, end))
    if (typeof part === 'string') return faulty(part)
    if (part) parts.push(part)
    at = end + lineEnd.length
  }
}

const faulty = (reason: string): { ok: false; reason: string } => ({ ok: false, reason })

const headersEnd = `${lineEnd}${lineEnd}`

/** Returns why this part is invalid, as a text; null for a part that may be ignored. */
function partOf(part: Buffer): FormPart | string | null {
  const end = part.subarray(0, formLimits.headerBytes).indexOf(headersEnd)
  if (end < 0) return `has a part without headers, or with more than ${formLimits.headerBytes} bytes of them`
  const head = utf8Text(part.subarray(0, end))
  const disposition = head === null ? null : headerOf(head, 'content-disposition')
  const name = disposition === null ? null : parameterOf(disposition, 'name')
  if (head === null || disposition === null || !name || !/^form-data\s*;/i.test(disposition))
    return 'has a part without a name'
  const bytes = part.subarray(end + headersEnd.length)
  const filename = parameterOf(disposition, 'filename')
  if (filename === null) {
    const text = utf8Text(bytes)
    return text === null ? 'has a field whose text is not UTF-8' : { name, content: text }
  }
  // An empty file input is sent as a file without a name or bytes.
  if (filename === '' && bytes.length === 0) return null
  return { name, content: { filename, type: headerOf(head, 'content-type') ?? 'application/octet-stream', bytes } }
}

type PartFile = Exclude<FormPart['content'], string>

/** Returns a form's fields by name; `asFile` turns a file's part into what the reader works with. */
export function fieldsOf(parts: readonly FormPart[], asFile: (file: PartFile) => unknown): FormFields {
  const fields: FormFields = {}
  for (const { name, content } of parts) add(fields, name, typeof content === 'string' ? content : asFile(content))
  return fields
}

function add(fields: FormFields, written: string, value: unknown): void {
  const isList = written.endsWith('[]')
  const name = isList ? written.slice(0, -2) : written
  // As in JSON, a careless copy would turn this name into a prototype.
  if (name === '__proto__') return
  const known = Object.hasOwn(fields, name) ? [fields[name]].flat() : []
  fields[name] = isList || known.length ? [...known, value] : value
}

function headerOf(head: string, name: string): string | null {
  for (const line of head.split(lineEnd)) {
    const colon = line.indexOf(':')
    if (line.slice(0, colon).trim().toLowerCase() === name) return line.slice(colon + 1).trim()
  }
  return null
}

/** Browsers write quotes and line breaks as `%22`, `%0D` and `%0A`, curl a quote as `\"`. */
function parameterOf(disposition: string, name: string): string | null {
  const given = new RegExp(`;\\s*${name}=(?:"((?:\\\\"|[^"])*)"|([^\\s;"]+))`, 'i').exec(disposition)
  const text = given?.[1] ?? given?.[2] ?? null
  return text === null
    ? null
    : text.replaceAll('\\"', '"').replaceAll(/%22/g, '"').replaceAll(/%0D/gi, '\r').replaceAll(/%0A/gi, '\n')
}
