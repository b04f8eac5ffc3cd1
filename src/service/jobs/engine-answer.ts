import { AudioQueueRequest } from '#contract/operations/audio.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import type { EngineState, JobProgress } from '#engines/ports/media-engines.ts'
import type { MusicModel } from '../models/audio-models.ts'
import type { VideoModel } from '../models/model.ts'
import { musicRequest } from './music-request.ts'

interface Asked {
  id: string
  /** Null where the engine has not started. */
  engineState: EngineState | null
}

/** What the engine of a job says; null where what was asked cannot be read, as by a release with other rules. */
export function engineAnswer(
  model: VideoModel | MusicModel,
  { id: jobId, engineState }: Asked,
  input: unknown,
  signal: AbortSignal,
): Promise<JobProgress> | null {
  const { engineModel } = model
  if (model.type === 'video') {
    const request = VideoQueueRequest.safeParse(input).data
    return request ? follow(model.engine, { request, engineModel, jobId, signal }, engineState) : null
  }
  const asked = AudioQueueRequest.safeParse(input).data
  return asked
    ? follow(model.engine, { request: musicRequest(model, asked), engineModel, jobId, signal }, engineState)
    : null
}

interface Engine<Call> {
  start(call: Call): Promise<JobProgress>
  poll(call: Call, engineState: EngineState): Promise<JobProgress>
}

const follow = <Call>(engine: Engine<Call>, call: Call, engineState: EngineState | null): Promise<JobProgress> =>
  engineState ? engine.poll(call, engineState) : engine.start(call)
