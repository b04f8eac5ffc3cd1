import type { ChatEngine } from '#engines/ports/engine.ts'
import type { VideoEngine } from '#engines/ports/media-engines.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { TextModel, VideoModel } from '#service/models/model.ts'

const unused = () => {
  throw new Error('No engine is asked here.')
}
export const noChat: ChatEngine = { complete: unused, stream: unused }
export const noVideo: VideoEngine = { carries: () => true, start: unused, poll: unused }

export const models = demoModels({ chat: noChat, video: noVideo })

export function textModel(change: Partial<TextModel> = {}): TextModel {
  const model = models.find(each => each.type === 'text')
  if (!model) throw new Error('No text model.')
  return { ...model, ...change }
}

export function videoModel(change: Partial<VideoModel> = {}): VideoModel {
  const model = models.find(each => each.type === 'video')
  if (!model) throw new Error('No video model.')
  return { ...model, ...change }
}
