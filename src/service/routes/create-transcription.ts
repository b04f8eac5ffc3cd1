import { createTranscription } from '#contract/transcription.ts'
import { answerTranscription } from '../audio/answer-transcription.ts'
import { route } from '../route.ts'

export const createTranscriptionRoute = route(createTranscription, (call, service) =>
  answerTranscription(call, call.body, service),
)
