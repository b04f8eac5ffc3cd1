import { createVoice } from '#contract/speech.ts'
import { answerVoice } from '../audio/answer-voice.ts'
import { route } from '../route.ts'

export const createVoiceRoute = route(createVoice, (call, service) => answerVoice(call, call.body, service))
