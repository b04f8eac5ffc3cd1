import { createSpeech } from '#contract/speech.ts'
import { answerSpeech } from '../audio/answer-speech.ts'
import { route } from '../route.ts'

export const createSpeechRoute = route(createSpeech, (call, service) => answerSpeech(call, call.body, service))
