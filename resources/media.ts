import { basename } from 'node:path'
import { keepMs, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { isoTime } from '#toolkit/values/amounts.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

export default defineResource({
  name: 'media',
  title: 'Saved files',
  description: 'The newest files that tools have saved, with their paths.',
  uri: 'farebox://media',
  mimeType: 'application/json',
  needs: [],
  keepMs: keepMs.money,

  async read(context) {
    const kept = await context.files.saved(resourceRows.files)
    const files = kept.map(({ id, path, mimeType, bytes, model, tool, savedAtMs }) => ({
      uri: `farebox://media/${id}`,
      name: basename(path),
      path,
      mime_type: mimeType,
      bytes,
      model: model === null ? null : untrustedId(model),
      tool,
      saved_at: isoTime(savedAtMs),
    }))
    return { text: JSON.stringify({ files }, null, 2) }
  },
})
