import { existsSync } from 'node:fs'
import type { Client, OpenedAnswer } from '#client/client.ts'
import { type Downloaded, download, saveBody } from '#client/download/download.ts'
import { ServiceError } from '#contract/service-error.ts'
import { retrieveVideo } from '#contract/video.ts'
import type { SavedFile } from '#toolkit/tool-context.ts'
import { type Files, inFolder, outputName } from '../files.ts'
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
  job: JobRow,
  finished: Finished,
  file: Parameters<typeof saveBody>[1],
  signal: AbortSignal,
): Promise<Downloaded> {
  if (finished.kind === 'bytes') return saveBody(finished.response, file)
  if (job.downloadUrl === null) {
    throw new Error('The service finished a video without its bytes and without an address for them.')
  }
  try {
    return await download(client, job.downloadUrl, file, { signal })
  } catch (error) {
    if (!isOver(error)) throw error
    // A signed address may end before its file does: the service has the last word, and may send the file itself.
    const again = await askAgain(client, job, signal)
    if (again.kind === 'bytes') return saveBody(again.response, file)
    throw error
  }
}

const isOver = (error: unknown): boolean =>
  error instanceof ServiceError && (error.status === 403 || error.status === 410)

const askAgain = (client: Client, { model, queueId }: JobRow, signal: AbortSignal): Promise<Finished> => {
  const body = { model, queue_id: queueId }
  return client.open(retrieveVideo, { params: undefined, query: undefined, body }, { signal, attempts: 1 })
}
