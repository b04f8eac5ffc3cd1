import type { Client, OpenedAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { type Downloaded, download, saveBody } from '#client/download/download.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { retrieveAudio } from '#contract/operations/audio.ts'
import { retrieveVideo } from '#contract/operations/video.ts'
import type { SniffedType } from '#contract/wire/media-type.ts'
import { inFolder } from '../media/file-name.ts'
import type { Files } from '../media/files.ts'
import { freePath } from '../media/free-path.ts'
import type { JobRow, QueuedJobRow, SavedMedia } from './job-rows.ts'

/** What a service may send of a finished job, by what it says that it is. */
const jobTypes = {
  video: ['video/mp4'],
  audio: ['audio/mpeg', 'audio/wav', 'audio/flac'],
} as const

type Finished = OpenedAnswer<typeof retrieveVideo | typeof retrieveAudio>

/** Writes what a finished job made into the output folder under a name of ours; a file that is there is never touched. */
export async function saveJobMedia(
  client: Client,
  files: Files,
  job: QueuedJobRow,
  finished: Finished,
  signal: AbortSignal,
): Promise<SavedMedia> {
  const folder = await files.outputFolder()
  const types: readonly SniffedType[] = jobTypes[job.kind]
  const said = finished.kind === 'bytes' ? types.find(type => type === finished.mimeType) : types[0]
  // Its first bytes have to be of that type, too.
  const mimeType = said ?? jobTypes[job.kind][0]
  const madeBy = { startedAtMs: job.startedAtMs, model: job.model, id: job.jobId }
  const file = { path: freePath(folder, madeBy, mimeType), partPath: inFolder(folder, `.${job.jobId}.part`), mimeType }
  const { path, bytes, isDownloaded } = await write(client, job, finished, file, signal)
  return { file: { path, mimeType, bytes }, isDownloaded }
}

async function write(
  client: Client,
  job: JobRow,
  finished: Finished,
  file: Parameters<typeof saveBody>[1],
  signal: AbortSignal,
): Promise<Downloaded & { isDownloaded: boolean }> {
  if (finished.kind === 'bytes') return { ...(await saveBody(finished.response, file)), isDownloaded: false }
  if (job.downloadUrl === null) {
    const said = 'The service finished a job without its bytes and without an address for them.'
    throw new ClientError('unreadable', said, { wasSent: true })
  }
  try {
    return { ...(await download(client, job.downloadUrl, file, { signal })), isDownloaded: true }
  } catch (error) {
    if (!isOver(error)) throw error
    // A signed address may end before its file does: the service has the last word, and may send the file itself.
    const again = await askAgain(client, job, signal)
    if (again.kind === 'bytes') return { ...(await saveBody(again.response, file)), isDownloaded: false }
    throw error
  }
}

const isOver = (error: unknown): boolean =>
  error instanceof ServiceError && (error.status === 403 || error.status === 410)

const askAgain = (client: Client, { model, queueId }: JobRow, signal: AbortSignal): Promise<Finished> => {
  const body = { model, queue_id: queueId }
  return client.open(retrieveVideo, { params: undefined, query: undefined, body }, { signal, attempts: 1 })
}
