import { basename } from 'node:path'
import { keepMs, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define-resource.ts'
import { strangeId } from '#toolkit/from-outside.ts'
import { isoTime } from '#toolkit/say-amount.ts'

export default defineResource({
  name: 'media',
  title: 'Saved files',
  description: 'The newest files that jobs have saved, and where they lie.',
  uri: 'farebox://media',
  mimeType: 'application/json',
  needs: ['job_list'],
  keepMs: keepMs.money,

  async read(context) {
    const files = (await context.jobs.list(resourceRows.shown)).flatMap(({ file, jobId, model, startedAtMs }) =>
      file
        ? {
            uri: `farebox://media/${jobId}`,
            name: basename(file.path),
            path: file.path,
            mime_type: file.mimeType,
            bytes: file.bytes,
            model: strangeId(model),
            started_at: isoTime(startedAtMs),
          }
        : [],
    )
    return { text: JSON.stringify({ files }, null, 2) }
  },
})
