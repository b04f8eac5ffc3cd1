import { afterEach, beforeEach } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { OpenAiVideos } from '#engines/openai/videos.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { ServiceVideo } from '#engines/service/service-engines.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type JobDouble, jobDouble, json } from './job-double.ts'

export type Kind = 'service' | 'openai'
export const kinds: Kind[] = ['service', 'openai']

/** A server of jobs and a folder for each test, with engines that are closed after it. */
export function jobEngines() {
  let folder = ''
  let server: JobDouble
  const opened: { close(): Promise<void> }[] = []
  beforeEach(async () => {
    folder = temporaryFolder('jobs')
    server = await jobDouble()
  })
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close()
    await server.close()
  })
  return {
    get folder() {
      return folder
    },
    get server() {
      return server
    },
    /** Is closed after the test. */
    opens(made: { close(): Promise<void> }) {
      opened.push(made)
    },
    engine(kind: Kind, takesKeys?: boolean, passMembers: readonly string[] = []): VideoEngine {
      const options = {
        baseUrl: `${server.origin}/v1`,
        workFolder: folder,
        apiKeyVariable: 'KEY',
        environment: { KEY: 'sk-canary' },
        ...(takesKeys === undefined ? {} : { takesKeys }),
      }
      const made = kind === 'service' ? new ServiceVideo({ ...options, passMembers }) : new OpenAiVideos(options)
      opened.push(made)
      return made
    },
    submissions: () => server.lines().filter(line => line === wires.service.submit || line === wires.openai.submit),
  }
}

export const call = (change: object = {}): VideoCall => ({
  request: VideoQueueRequest.parse({
    model: 'public',
    prompt: 'a boat',
    duration: '4s',
    resolution: '720p',
    ...change,
  }),
  engineModel: 'their-model',
  jobId: '0199-job',
  signal: new AbortController().signal,
})

export const stateOf = (progress: JobProgress): EngineState => {
  if (progress.state !== 'running') throw new Error(`It is ${progress.state}.`)
  return progress.engineState
}

/** As the runner asks: start, then again and again with the last state, until there is a verdict or these steps are over. */
export async function follow(made: VideoEngine, steps: number, asked = call()): Promise<JobProgress> {
  let progress = await made.start(asked)
  for (let step = 0; step < steps && progress.state === 'running'; step++) {
    progress = await made.poll(asked, progress.engineState)
  }
  return progress
}

export const wires = {
  service: {
    submit: 'POST /v1/video/queue',
    taken: json({ model: 'their-model', queue_id: 'q1' }),
    look: 'POST /v1/video/retrieve',
  },
  openai: { submit: 'POST /v1/videos', taken: json({ id: 'q1', status: 'queued' }), look: 'GET /v1/videos/q1' },
} as const
