import { z } from 'zod'

/**
 * A file that a tool sends in a form. Its bytes are in memory, because calls are compared by what they send, and a call
 * that awaits its answer is stored with its files.
 */
export class FormFile extends File {
  readonly content: Uint8Array<ArrayBuffer>

  constructor(content: Uint8Array<ArrayBuffer>, name: string, type: string) {
    super([content], name, { type })
    this.content = content
  }

  toJSON(): z.input<typeof KeptFile> {
    const { name, type, content } = this
    return { [member]: { name, type, base64: Buffer.from(content).toString('base64') } }
  }
}

const member = 'farebox:file'

const KeptFile = z.strictObject({
  [member]: z.strictObject({ name: z.string(), type: z.string(), base64: z.string() }),
})

/** For `JSON.parse` of a stored request: turns files into files again. */
export function reviveFormFile(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !(member in value)) return value
  const { data } = KeptFile.safeParse(value)
  if (!data) return value
  const { name, type, base64 } = data[member]
  return new FormFile(new Uint8Array(Buffer.from(base64, 'base64')), name, type)
}
