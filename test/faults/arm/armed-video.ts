import { DemoVideo as Real } from '#engines/demo/video.ts'
import type { EngineState, JobProgress, VideoCall } from '#engines/ports/media-engines.ts'
import { around } from './around.ts'
import { comeBy, videosFail } from './fault-orders.ts'

export * from '#engines/demo/video.ts'

const failed: JobProgress = { state: 'failed', reason: 'The harness lets videos fail.' }

export class DemoVideo extends Real {
  override start(call: VideoCall): Promise<JobProgress> {
    return around('starting a video', async () => (videosFail() ? failed : super.start(call)))
  }

  override async poll(call: VideoCall, engineState: EngineState): Promise<JobProgress> {
    const progress = await super.poll(call, engineState)
    if (progress.state === 'completed') comeBy('after a video is made')
    return progress
  }
}
