import { createVideoTranscription } from '#contract/video-transcription.ts'
import { route } from '../route.ts'
import { answerVideoTranscription } from '../video/answer-video-transcription.ts'

export const createVideoTranscriptionRoute = route(createVideoTranscription, async (call, service) =>
  answerVideoTranscription(call, call.body, service),
)
