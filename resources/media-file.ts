import { zeroUsd } from '#contract/money.ts'
import { keepMs, resourceFileBytes, resourceRows } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define-resource.ts'
import type { SavedFile } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'

export default defineResource({
  name: 'media_file',
  title: 'One saved file',
  description: 'A file that a job has saved; a large one is read from its path instead.',
  uri: 'farebox://media/{job_id}',
  needs: ['job_list'],
  keepMs: keepMs.files,

  async read(context, jobId) {
    const job = (await context.jobs.list(resourceRows.looked)).find(row => row.jobId === jobId)
    if (!job?.file) return null
    const { path, mimeType } = job.file
    if (job.file.bytes > resourceFileBytes) throw tooLarge(job.file)
    const url = await context.files.asMediaUrl(path, kindOf(mimeType))
    return { base64: url.slice(url.indexOf(',') + 1), mimeType }
  },

  choices: async context =>
    (await context.jobs.list(resourceRows.looked)).flatMap(({ file, jobId }) => (file ? jobId : [])),
})

const kindOf = (mimeType: string): 'image' | 'video' | 'audio' =>
  mimeType.startsWith('image/') ? 'image' : mimeType.startsWith('audio/') ? 'audio' : 'video'

const tooLarge = ({ path, bytes }: SavedFile): ToolFailure =>
  new ToolFailure({
    happened: `The file has ${bytes} bytes, more than the ${resourceFileBytes} that are sent.`,
    charged: zeroUsd,
    next: `Open it where it lies: ${path}`,
  })
