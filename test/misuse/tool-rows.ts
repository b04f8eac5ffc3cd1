import type { PretendOptions } from '../agent/pretend-service.ts'
import { answerHtml } from './places.ts'

/** One mistake of a model, or of a user who tells it what to do. */
export interface ToolMistake {
  tool: string
  given: Record<string, unknown>
  /** What the sentence has of what is wrong. */
  wrong: string
  /** What it has of what is allowed; null where there is one way on, which is the next step. */
  allowed: string | null
  /** What it has of what to do. */
  next: string
  service?: PretendOptions
  /** Neither a wallet nor a key. */
  paysNothing?: true
}

type Parts = [
  tool: string,
  given: Record<string, unknown>,
  wrong: string,
  allowed: string | null,
  next: string,
  more?: Pick<ToolMistake, 'service' | 'paysNothing'>,
]

const row = (...[tool, given, wrong, allowed, next, more]: Parts): ToolMistake => ({
  ...{ tool, given, wrong, allowed, next },
  ...more,
})

const videoModel = {
  id: 'v',
  object: 'model',
  owned_by: 'x',
  type: 'video',
  model_spec: {
    privacy: 'private',
    constraints: {
      model_type: 'image-to-video',
      aspect_ratios: ['16:9', '9:16'],
      resolutions: ['720p'],
      durations: ['5s', '10s'],
      audio: false,
      audio_configurable: false,
      audio_input: false,
      video_input: false,
    },
  },
}
const withVideo = { service: { alsoListed: [videoModel] } }
const withEditor = {
  service: {
    alsoListed: [
      {
        ...{ id: 'e', object: 'model', owned_by: 'x', type: 'inpaint' },
        model_spec: { privacy: 'private', pricing: { inpaint: { usd: 0.04, diem: 0.04 } } },
      },
    ],
  },
}
const hi = { model: 'm', prompt: 'hi' }
const clip = { model: 'v', prompt: 'hi', duration: '5s' }
const edit = { model: 'e', prompt: 'hi' }
const fix = 'Fix these fields and call'

export const toolMistakes: readonly ToolMistake[] = [
  // Names and types of arguments.
  row('chta', hi, 'chta', 'models_find, music_create', 'Did you mean chat?'),
  row('chat', {}, '`model` is missing', '(string)', fix),
  row('chat', { ...hi, promt: 'hi' }, '`promt`', 'prompt, system', fix),
  row('chat', { ...hi, service_parameters: { search: true } }, '`service_parameters.search`', 'enable_web_search', fix),
  row(
    'chat',
    { ...hi, history: [{ role: 'user', content: 'hi', name: 'ada' }] },
    '`history.0.name`',
    'role, content',
    fix,
  ),
  row('chat', { ...hi, history: [{ role: 'robot', content: 'hi' }] }, '`history.0.role`', 'user, assistant', fix),
  row('chat', { ...hi, max_tokens: 1.5 }, '`max_tokens`', 'a whole number', fix),
  row('chat', { ...hi, again: 'yes' }, '`again`', 'true or false', fix),
  row('chat', { ...hi, images: ['data:text/plain;base64,aGk='] }, 'not an image', 'https URL', 'Give a path'),
  row('chat', { ...hi, temperature: 'hot' }, '`temperature`', 'number', fix),
  row('chat', { ...hi, temperature: 9 }, '`temperature`', 'at most 2', fix),
  row('chat', { model: 'm', prompt: '' }, '`prompt`', 'not be empty', fix),
  row('models_find', { type: 'picture' }, '`type`', 'image, music', fix),
  row('image_create', { ...hi, format: 'gif' }, '`format`', 'jpeg, png, webp', fix),
  row('image_create', { ...hi, variants: 9 }, '`variants`', 'at most 4', fix),
  row('image_edit', { ...hi, images: [] }, '`images`', 'not be empty', fix),
  row('image_edit', { ...hi, images: 'cat.png' }, '`images`', 'an array', fix),
  row('usage_report', { days: 0 }, '`days`', 'at least 1', fix),
  row('job_wait', { job_id: 'q1', wait_seconds: 600 }, '`wait_seconds`', 'at most 45', fix),
  row('speech_create', { model: 'm', text: 'a'.repeat(5_000) }, '`text`', '4096 characters', fix),
  row('wallet_receipts', { kind: 'all' }, '`kind`', 'limit', fix),
  // Models and what they take.
  row('chat', { ...hi, model: 'demo-caht' }, 'demo-caht', 'Text models are m', 'models_find'),
  row(
    'video_create',
    { ...hi, duration: '5s' },
    'm is not a video model',
    'Video models are v',
    'models_find',
    withVideo,
  ),
  row('video_create', { ...clip, duration: '7s' }, '`duration`', '5s, 10s', 'Call again with one of these', withVideo),
  row('video_create', { ...clip, resolution: '4k' }, '`resolution`', '720p', 'or without it', withVideo),
  // Files and addresses.
  row('image_edit', { ...edit, images: ['none.png'] }, 'no such file', '{folder}/output', 'Ask the user', withEditor),
  row(
    'image_edit',
    { ...edit, images: ['/etc/passwd'] },
    'no such file',
    '{folder}/output',
    'Ask the user',
    withEditor,
  ),
  row('transcribe', { model: 'm', file: '~/.ssh/id_rsa' }, 'no such file', '{folder}/output', 'Ask the user'),
  row('web_read', { source: 'ftp://x.example/a' }, 'Only http and https', 'https://…', 'Give `source`'),
  // What the network or another server does.
  row('models_find', {}, 'does not match the API', null, 'FAREBOX_BASE_URL', { service: { instead: answerHtml(200) } }),
  row('chat', hi, '502', null, 'Try again later', { service: { instead: answerHtml(502) } }),
  // Jobs.
  row('job_wait', { job_id: 'q1' }, 'No job', null, 'job_list shows the ids'),
  row('job_delete', { job_id: 'q1' }, 'No job', null, 'job_list shows the ids'),
  // Money.
  row('estimate', { tool: 'piano', arguments: {} }, 'piano', 'chat, ', 'Call estimate with one of them'),
  row('estimate', { tool: 'chat', arguments: { model: 'm' } }, '`prompt` is missing', '(string)', 'within `arguments`'),
  row('wallet_top_up', { amount_usd: 1 }, '`amount_usd`', 'at least 5', fix),
  row('wallet_top_up', { amount_usd: 50 }, '50.00 USD is more', '5.00 USD', 'FAREBOX_MAX_PAYMENT_USD'),
  row('wallet_top_up', { amount_usd: 5 }, 'neither a wallet', 'FAREBOX_API_KEY', 'wallet create', {
    paysNothing: true,
  }),
  row('chat', hi, 'neither a wallet', 'FAREBOX_API_KEY', 'wallet create', { paysNothing: true }),
]
