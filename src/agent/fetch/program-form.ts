import { createHash } from 'node:crypto'
import { type FormFields, type FormPart, fieldsOf, formBoundary, formParts } from '#contract/wire/form.ts'
import { FormFile } from '#toolkit/values/form-file.ts'

/** Names of every contract's fields; a list ends in `[]`. Others could be quoted in more ways than one. */
const fieldName = /^[\w.-]{1,100}(\[[\w.-]{0,100}\]){0,4}$/

/** The parts of a form that a program wrote; null where the body is none, or one that cannot be read in one way alone. */
export function readForm(contentType: string | undefined, body: Uint8Array): FormPart[] | null {
  const boundary = formBoundary(contentType)
  if (boundary === null) return null
  const read = formParts(Buffer.from(body.buffer, body.byteOffset, body.byteLength), boundary)
  if (!read.ok || !read.parts.every(({ name }) => fieldName.test(name) && !name.startsWith('__proto__'))) return null
  return read.parts.map(({ name, content }) => ({
    name,
    content:
      typeof content === 'string'
        ? content
        : { ...content, ...plainName(content.filename), ...plainType(content.type) },
  }))
}

/** A name that needs no quoting, so that it ends where we end it. */
const plainName = (filename: string) => ({
  filename:
    filename
      .slice(0, fileNameCharacters)
      .toWellFormed()
      .replaceAll(/[\p{Cc}"\\%;]/gu, '_') || 'file',
})

const fileNameCharacters = 255

/** Without its parameters, which may be quoted, too. */
const plainType = (type: string) => ({
  type: /^([\w.+-]{1,100}\/[\w.+-]{1,100})\s*(;|$)/.exec(type)?.[1]?.toLowerCase() ?? 'application/octet-stream',
})

/** The same names and texts and files are the same fields, whatever stood between them. */
export const formFields = (parts: readonly FormPart[]): FormFields =>
  fieldsOf(parts, ({ filename, type, bytes }) => new FormFile(new Uint8Array(bytes), filename, type))

/**
 * A form of these parts. Its boundary is the hash of what it bounds: nobody can write it into a part, and the same form
 * has the same bytes again, for services that compare those of a repeat.
 */
export function writeForm(parts: readonly FormPart[]): { type: string; body: Uint8Array } {
  const pieces = parts.map(part => [Buffer.from(headOf(part)), bytesOf(part)] as const)
  const hash = createHash('sha256')
  for (const [head, bytes] of pieces) hash.update(`${head.byteLength} ${bytes.byteLength} `).update(head).update(bytes)
  const boundary = `farebox-${hash.digest('hex').slice(0, 48)}`
  const body = Buffer.concat([
    ...pieces.flatMap(([head, bytes]) => [Buffer.from(`--${boundary}\r\n`), head, bytes, Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}

function headOf({ name, content }: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${name}"`
  if (typeof content === 'string') return `${disposition}\r\n\r\n`
  return `${disposition}; filename="${content.filename}"\r\nContent-Type: ${content.type}\r\n\r\n`
}

const bytesOf = ({ content }: FormPart): Buffer => (typeof content === 'string' ? Buffer.from(content) : content.bytes)
