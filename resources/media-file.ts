import { basename } from 'node:path'
import { keepMs, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { fromOutside } from '#toolkit/values/untrusted.ts'

export default defineResource({
  name: 'media_file',
  title: 'One saved file',
  description: 'A file that a tool has saved. Read large files from their path instead.',
  uri: 'farebox://media/{id}',
  readsLinks: 'file:',
  needs: [],
  keepMs: keepMs.files,

  async read(context, address) {
    const found = await context.files.readSaved(address)
    if (!found) return null
    const { path, mimeType } = found.file
    const bytes = Buffer.from(found.bytes)
    // A text may contain words meant for a model; vectors and media are not read as text.
    if (mimeType === 'text/plain') return { text: fromOutside(`file ${basename(path)}`, bytes.toString()) }
    return { base64: bytes.toString('base64'), mimeType }
  },

  choices: async context => (await context.files.saved(resourceRows.files)).map(({ id }) => id),
})
