import { existsSync } from 'node:fs'
import type { Client, OpenedAnswer } from '#client/client.ts'
import { type Downloaded, download, saveBody } from '#client/download.ts'
import type { retrieveVideo } from '#contract/video.ts'
import type { SavedFile } from '#toolkit/tool-context.ts'
import { type Files, inFolder, outputName } from './files.ts'
import type { JobRow } from './job-rows.ts'

const mimeType = 'video/mp4'

type Finished = OpenedAnswer<typeof retrieveVideo>

/** Writes a finished video into the output folder under a name of ours; a file that is there is never touched. */
export async function saveVideo(
  client: Client,
  files: Files,
  job: JobRow,
  finished: Finished,
  signal: AbortSignal,
): Promise<SavedFile> {
  const folder = await files.outputFolder()
  const file = { path: freePath(folder, job), partPath: inFolder(folder, `.${job.jobId}.part`), mimeType }
  const { path, bytes } = await write(client, job, finished, file, signal)
  return { path, mimeType, bytes }
}

/** A file that a crash left without its row keeps its name; the next save takes another one. */
function freePath(folder: string, job: JobRow): string {
  for (let count = 1; count <= mostNames; count++) {
    const ending = count === 1 ? 'mp4' : `${count}.mp4`
    const path = inFolder(folder, outputName(job.startedAtMs, job.model, job.jobId, ending))
    if (!existsSync(path)) return path
  }
  throw new Error('Every name for the file of this job is taken.')
}

/** Crashes between a file and its row, in one job. */
const mostNames = 9

async function write(
  client: Client,
  { downloadUrl }: JobRow,
  finished: Finished,
  file: Parameters<typeof saveBody>[1],
  signal: AbortSignal,
): Promise<Downloaded> {
  if (finished.kind === 'bytes') return saveBody(finished.response, file)
  if (downloadUrl !== null) return download(client, downloadUrl, file, signal)
  throw new Error('The service finished a video without its bytes and without an address for them.')
}
