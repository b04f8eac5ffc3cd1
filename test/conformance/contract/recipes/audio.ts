import { unreadableSpeech } from '#contract/errors/errors.ts'
import { wavOf } from '#engines/audio/recording.ts'
import type { Stand } from '../contract-service.ts'
import { refusedWord } from '../double-video.ts'
import { type Asked, deletedJob, queuedJob, type Recipes } from '../recipe.ts'

const rate = 8_000
const recording = wavOf({ samples: new Int16Array(2 * rate), rate })

function form(fields: Readonly<Record<string, string>>): Asked {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  body.append('file', new File([new Uint8Array(recording)], 'a.wav'))
  return { body }
}

const emptyForm: Asked = { body: new FormData() }
const speech = { model: 'demo-speech', input: 'Two words.', response_format: 'wav' }
const music = { model: 'demo-music', prompt: 'A slow waltz', duration_seconds: 2 }
const queued = (stand: Stand, change: object = {}) => queuedJob(stand, 'audio', { ...music, ...change })
const open = 'every model here is open to everybody'

export const audioRecipes: Recipes = {
  createSpeech: {
    succeeds: [
      { body: speech },
      { body: { ...speech, response_format: 'pcm', voice: 'demo-low' }, as: 'wallet' },
      { body: { ...speech, streaming: true } },
    ],
    unreachable: { 403: open },
  },
  createTranscription: {
    succeeds: [
      () => form({ model: 'demo-asr' }),
      () => ({ ...form({ model: 'demo-asr', response_format: 'text' }), as: 'wallet' }),
    ],
    reaches: {
      400: emptyForm,
      422: {
        async answer(stand) {
          const before = stand.failure
          stand.failure = unreadableSpeech()
          const response = await stand.ask('POST', '/audio/transcriptions', form({ model: 'failing-demo-asr' }))
          stand.failure = before
          return response
        },
      },
    },
    unreachable: { 403: open },
  },
  createClonedVoice: {
    succeeds: [() => form({ model: 'double-voice' }), () => ({ ...form({ model: 'double-voice' }), as: 'wallet' })],
    reaches: { 400: emptyForm },
    unreachable: { 403: open },
  },
  quoteAudio: {
    succeeds: [{ body: { model: 'demo-music' } }, { body: { ...music, duration_seconds: '2' } }],
    unreachable: { 500: 'it reads nothing that can fail' },
  },
  queueAudio: {
    succeeds: [{ body: music }, { body: music, as: 'wallet' }],
    unreachable: { 422: 'no model here refuses a prompt before it is queued' },
    failsBy: 'books',
  },
  retrieveAudio: {
    succeeds: [stand => queued(stand)],
    reaches: {
      404: stand => deletedJob(stand, 'audio', music),
      422: stand => queued(stand, { prompt: refusedWord }),
    },
    failsBy: 'books',
  },
  completeAudio: { succeeds: [stand => queued(stand)], failsBy: 'books' },
}
