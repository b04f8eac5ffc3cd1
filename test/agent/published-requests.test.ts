import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createAgent } from '#agent/create-agent.ts'
import { catalogue } from '#agent/tools/catalogue.ts'
import { isPaid } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { ApprovalRequest } from '#toolkit/approval.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, type Seen } from '../client/little-server.ts'
import type { PublishedRequest } from '../contract/published-request.ts'
import { publishedRequests } from '../contract/published-requests.ts'
import type { Schema } from '../contract/published-schema.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { inputsOf, type Known } from './inputs-of.ts'
import { temporaryFolder } from './open-agent.ts'
import { type PretendOptions, payTo, pretendService, walletKey } from './pretend-service.ts'

/**
 * No request of the agent leaves what public services of this contract publish, but for what stands here: a service that
 * does not know it passes it over or answers 404, and nothing is lost by that.
 */
const beyond: Readonly<Record<string, string>> = {
  'paid: header idempotency-key': 'sent only to a service that says that it counts',
  'paid: header x-farebox-want-receipt': 'an unknown header is passed over',
  'POST /image/edit: member quality': 'where it was asked for; the models that have it take it of one image too',
  'POST /image/upscale: member model': 'where it was asked for, because a service has several',
  'POST /image/background-remove: member model': 'where it was asked for, because a service has several',
  'GET /models: query type=background':
    'farebox’s own type, listed for who asks for it; asked of a service that counts, or by an assistant that chose it',
  'GET /farebox/receipts':
    'a service without receipts answers 404, and is not asked again once it has charged without one',
  'POST /video/quote: credential sign-in-with-x': 'where only keys are read, a price is told to anybody',
  'GET /characters: credential sign-in-with-x':
    'a service that shows them to keys alone answers 401; ours shows them to wallets too',
  'GET /api_keys/rate_limits: credential sign-in-with-x':
    'a service that lists limits for keys alone answers 401, and its answers tell the limits',
  'GET {download_url}': 'the address that the service itself gave for the finished video',
  'DELETE {download_url}': 'the same, by whoever wants it deleted',
}

/** What HTTP itself asks for, and what no service has to describe. */
const ofHttp = new Set(['host', 'connection', 'content-length', 'content-type', 'accept'])
const credentials = new Set(['authorization', 'sign-in-with-x'])
const downloadPath = '/files/a.mp4'

const checkers = new Map<Schema, z.ZodType>()
function issuesOf(schema: Schema, value: unknown): z.core.$ZodIssue[] {
  const checker = checkers.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  checkers.set(schema, checker)
  return checker.safeParse(value).error?.issues ?? []
}

const problemOf = (schema: Schema, value: unknown): string | null =>
  issuesOf(schema, value)
    .map(({ message }) => message)
    .join() || null

/** Members that are not published by their names, any other problem in words. */
const problemsOf = (schema: Schema, value: unknown): string[] =>
  issuesOf(schema, value).flatMap(issue =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0
      ? issue.keys.map(name => `member ${name}`)
      : [`${issue.path.join('.')}: ${issue.message}`],
  )

/** How a request leaves what is published: a line for each thing. */
function leavings({ method, path, headers, body }: Seen): string[] {
  if (path === downloadPath) return [`${method} {download_url}`]
  const url = new URL(path.replace(/^\/api\/v1/, ''), 'http://service.example')
  const published = publishedRequests.find(each => each.method === method && pathPattern(each).test(url.pathname))
  if (!published) return [`${method} ${url.pathname}`]
  const { params = {}, query = {} } = published
  const values = pathPattern(published).exec(url.pathname)?.groups ?? {}
  const wrong = [
    ...Object.keys(params).map(name => problemOf(params[name] ?? {}, decodeURIComponent(values[name] ?? ''))),
    ...[...url.searchParams].map(([name, value]) => queryProblem(query[name], name, value)),
    ...Object.keys(headers).map(name => headerProblem(published, name)),
    ...bodyProblems(published, headers['content-type'], body),
  ]
  const isPaidCall = operations.some(operation => operation.path === published.path && isPaid(operation))
  const asked = (problem: string) => (isPaidCall && paidHeaders.has(problem) ? 'paid' : `${method} ${published.path}`)
  return wrong.flatMap(problem => (problem === null ? [] : [`${asked(problem)}: ${problem}`]))
}

const pathPattern = ({ path }: PublishedRequest): RegExp =>
  new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

function queryProblem(schema: Schema | undefined, name: string, value: string): string | null {
  if (!schema) return `query ${name}`
  return problemOf(schema, fromQuery(schema, value)) === null ? null : `query ${name}=${value}`
}

const fromQuery = (schema: Schema, text: string): unknown =>
  JSON.stringify(schema).includes('"integer"') && /^-?\d+$/.test(text) ? Number(text) : text

function headerProblem({ credentials: known, headers = [] }: PublishedRequest, name: string): string | null {
  if (credentials.has(name)) return known.includes(name) ? null : `credential ${name}`
  return ofHttp.has(name) || headers.includes(name) ? null : `header ${name}`
}

const paidHeaders = new Set(['header idempotency-key', 'header x-farebox-want-receipt'])

function bodyProblems({ body: schema, form }: PublishedRequest, type: string | undefined, body: string): string[] {
  if (body === '') return type === undefined ? [] : ['a content type without a body']
  if (form && type?.startsWith('multipart/form-data')) return problemsOf(form, formOf(type, body))
  if (!schema) return ['a body']
  return type === 'application/json' ? problemsOf(schema, JSON.parse(body)) : [`content type ${type}`]
}

/** Names and texts; of a file what its bytes are counts for nothing. */
function formOf(type: string, body: string): Record<string, string> {
  const boundary = /boundary=(.+)$/.exec(type)?.[1] ?? ''
  const parts = body.split(`--${boundary}`).slice(1, -1)
  return Object.fromEntries(
    parts.map(part => {
      const [head = '', ...rest] = part.split('\r\n\r\n')
      return [/ name="([^"]*)"/.exec(head)?.[1] ?? '', rest.join('\r\n\r\n').replace(/\r\n$/, '')]
    }),
  )
}

const data = { accessPermitted: true, apiTier: { id: 'x', isCharged: true }, balances: { USD: 5 } }
const limits = { data: { ...data, keyExpiration: null, nextEpochBegins: '2026-01-02T00:00:00.000Z', rateLimits: [] } }
const mp4 = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(1_000, 7)])
const processing = { status: 'PROCESSING', average_execution_time: 4_000, execution_duration: 1_000 }
const pagination = { limit: 50, offset: 0, hasMore: false }

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const timing = { inferenceDuration: 1, inferencePreprocessingTime: 1, inferenceQueueTime: 1, total: 3 }
const wav = wavOfChunks({}, [1_600])

/** Without prices, so that the user is asked for each of them. */
const listedModels = [
  ...[
    ['m', 'text'],
    ['m', 'video'],
    ['v', 'embedding'],
  ],
  ...['image', 'inpaint', 'upscale', 'tts', 'asr', 'music'].map(type => ['x', type]),
].map(([id, type]) => ({ id, object: 'model', owned_by: 'x', type, model_spec: { privacy: 'private' } }))

const madeAnswers: readonly (readonly [path: string, answer: object])[] = [
  ['/image/generate', { id: 'i', images: [png.toString('base64')], timing }],
  ['/audio/transcriptions', { text: 'words' }],
  ['/audio/quote', { quote: 0.1 }],
  ['/audio/queue', { model: 'x', queue_id: 'q', status: 'QUEUED' }],
]

const madeFiles: readonly (readonly [path: string, type: string, bytes: Buffer])[] = [
  ['/image/edit', 'image/png', png],
  ['/image/multi-edit', 'image/png', png],
  ['/image/upscale', 'image/png', png],
  ['/image/background-remove', 'image/png', png],
  ['/audio/speech', 'audio/wav', wav],
]

type Retrieve = 'running' | 'file' | 'elsewhere' | 'failed'

/** What the pretended service does not answer by itself, as the contract has it. */
const others =
  (retrieve: () => Retrieve): NonNullable<PretendOptions['instead']> =>
  ({ path }, response) => {
    const wallet = { walletAddress: 'w' }
    const say = (body: unknown, status = 200) => {
      answerJson(response, status, body)
      return true
    }
    if (path.includes('/x402/balance/')) {
      const credit = { balanceUsd: 5, canConsume: true, minimumTopUpUsd: 5, suggestedTopUpUsd: 10 }
      return say({ success: true, data: { ...wallet, ...credit } })
    }
    if (path.includes('/x402/transactions/'))
      return say({ success: true, data: { ...wallet, currentBalance: 5, transactions: [], pagination } })
    if (path.endsWith('/api_keys/rate_limits')) return say(limits)
    const made = madeAnswers.find(([of]) => path.endsWith(of))
    if (made) return say(made[1])
    const file = madeFiles.find(([of]) => path.endsWith(of))
    if (file) {
      response.writeHead(200, { 'content-type': file[1] }).end(file[2])
      return true
    }
    if (path === downloadPath || (path.endsWith('/video/retrieve') && retrieve() === 'file')) {
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(mp4)
      return true
    }
    if (!path.endsWith('/video/retrieve')) return false
    if (retrieve() === 'failed') return say({ error: 'Inference processing failed' }, 500)
    return say(retrieve() === 'elsewhere' ? { ...processing, status: 'COMPLETED' } : processing)
  }

const yes = ({ kind }: ApprovalRequest) =>
  kind === 'consent'
    ? ({ kind, termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const)
    : ({ kind: 'approve', approved: true } as const)

const caps = { maxPaymentUsd: '10000', maxDayUsd: '1000000', maxTotalUsd: '1000000', maxCallUsd: '1000000' }

type Payer = 'key' | 'wallet'

async function open(payer: Payer, options: PretendOptions = {}, retrieve: () => Retrieve = () => 'running') {
  const service = await pretendService({
    credit: 1_000,
    instead: others(retrieve),
    alsoListed: listedModels,
    ...options,
  })
  const dataFolder = temporaryFolder()
  const outputFolder = temporaryFolder()
  writeFileSync(join(outputFolder, 'notes.txt'), 'Buy a kite.')
  writeFileSync(join(outputFolder, 'a.wav'), wav)
  const agent = await createAgent({
    baseUrl: service.baseUrl,
    ...(payer === 'key' ? { key: canaryApiKey } : { wallet: { key: walletKey } }),
    policy: { ...caps, askAboveUsd: '1000000', payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo }] },
    dataFolder,
    outputFolder,
    notesFolder: `${dataFolder}/notes`,
    onApproval: yes,
  })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  return { service, agent, leaving: () => [...new Set(service.seen.flatMap(leavings))].sort() }
}

const video = { model: 'm', duration: '5s', prompt: 'a cat' }
const imageFile = 'data:image/png;base64,iVBORw0KGgo='
const source = (kind: string) => fc.constantFrom('https://x.example/a', `data:${kind}/x;base64,AAAA`)

const known: Known = {
  model: fc.constant('m'),
  // The wait does not change the request.
  wait_seconds: fc.constant(0),
  images: fc.array(source('image'), { maxLength: 8 }),
  reference_images: fc.array(source('image'), { maxLength: 9 }),
  network: fc.constant('base-mainnet'),
  recording: fc.constant('a.wav'),
  params: fc.array(fc.jsonValue(), { maxLength: 5 }),
  // A page, and a file that is there.
  source: fc.constantFrom('https://x.example/a', 'notes.txt'),
  ...{ image: source('image'), end_image: source('image'), audio_track: source('audio'), video: source('video') },
}

/** Models of images and audio have no price at the simulated service, so the user is asked and approves. */
const media: Known = { model: fc.constant('x'), file: fc.constant('a.wav') }
const knownOf: Readonly<Record<string, Known>> = {
  embeddings_create: { model: fc.constant('v') },
  chat: {
    audio: fc.array(fc.constant('a.wav'), { maxLength: 2 }),
    videos: fc.array(source('video'), { maxLength: 2 }),
    service_parameters: fc.constantFrom({}, { enable_web_search: 'on' }, { character_slug: 'a' }),
  },
  video_create: {
    reference_videos: fc.array(source('video'), { maxLength: 3 }),
    reference_audio: fc.array(source('audio'), { maxLength: 3 }),
    scene_images: fc.array(source('image'), { maxLength: 4 }),
    elements: fc.array(fc.record({ frontal_image: source('image'), video: source('video') }, { requiredKeys: [] }), {
      maxLength: 4,
    }),
  },
  estimate: { tool: fc.constant('video_create'), arguments: fc.constantFrom<object>(video, {}) },
  image_create: media,
  image_edit: { ...media, images: fc.array(source('image'), { minLength: 1, maxLength: 3 }) },
  ...{ image_upscale: media, image_remove_background: media },
  ...{ speech_create: media, transcribe: media, music_create: media },
}

/** Requests that a tool of the table makes whatever it is given, by who pays. */
const asks: Readonly<Record<string, Partial<Record<Payer, string>>>> = {
  chat: { key: '/chat/completions', wallet: '/chat/completions' },
  models_find: { key: '/models', wallet: '/models' },
  estimate: { key: '/video/quote', wallet: '/video/quote' },
  video_create: { key: '/video/queue', wallet: '/video/queue' },
  job_delete: { key: '/video/retrieve', wallet: '/video/retrieve' },
  usage_report: { key: '/billing/usage-analytics' },
  characters_find: { key: '/characters', wallet: '/characters' },
  embeddings_create: { key: '/embeddings', wallet: '/embeddings' },
  chain_rpc: { key: '/crypto/rpc/', wallet: '/crypto/rpc/' },
  voice_clone: { key: '/audio/voices', wallet: '/audio/voices' },
  web_search: { key: '/augment/search', wallet: '/augment/search' },
  web_read: { key: '/augment/scrape', wallet: '/augment/scrape' },
  job_wait: { key: '/video/retrieve', wallet: '/video/retrieve' },
  limits: { key: '/api_keys/rate_limits', wallet: '/api_keys/rate_limits' },
  wallet_status: { key: '/api_keys/rate_limits', wallet: '/x402/balance/' },
  wallet_top_up: { wallet: '/x402/top-up' },
  // Of a service that charged without a receipt none is asked.
  wallet_receipts: {},
  job_list: {},
  image_create: { key: '/image/generate', wallet: '/image/generate' },
  image_edit: { key: '/image/multi-edit', wallet: '/image/edit' },
  image_upscale: { key: '/image/upscale', wallet: '/image/upscale' },
  image_remove_background: { key: '/image/background-remove', wallet: '/image/background-remove' },
  speech_create: { key: '/audio/speech', wallet: '/audio/speech' },
  transcribe: { key: '/audio/transcriptions', wallet: '/audio/transcriptions' },
  music_create: { key: '/audio/queue', wallet: '/audio/queue' },
}

const each = Object.keys(catalogue.tools).flatMap(name => [
  { name, payer: 'key' as const },
  { name, payer: 'wallet' as const },
])

test.each(each)(
  'whatever $name is given, its requests stay within what is published ($payer)',
  async ({ name, payer }) => {
    const { agent, service, leaving } = await open(payer)
    const tool = await catalogue.tools[name]?.()
    if (!tool) throw new Error(`no tool ${name}`)
    const { job_id } = (await agent.call('video_create', video)).output
    const inputs = inputsOf(tool, { ...known, ...knownOf[name], job_id: fc.constant(job_id) }, ['wait_seconds'])
    await fc.assert(
      fc.asyncProperty(inputs, async given => {
        // What is refused is refused before anything is sent, or by a rule of the wallet.
        await callByName(agent, name, given).catch(() => {})
        expect(leaving().filter(line => !(line in beyond))).toEqual([])
      }),
      { numRuns: 40 },
    )
    const wanted = asks[name]?.[payer]
    expect(service.seen.some(({ path }) => wanted === undefined || path.includes(wanted))).toBe(true)
  },
  60_000,
)

test('what goes beyond is sent where the table says, and nowhere else', async () => {
  let retrieve: Retrieve = 'failed'
  const keyed = await open('wallet', { credit: 0, takesKeys: true, asksConsent: true }, () => retrieve)
  for (const name of ['characters_find', 'wallet_receipts', 'wallet_status', 'limits', 'models_find'])
    await callByName(keyed.agent, name).catch(() => {})
  await keyed.agent.call('chat', { model: 'm', prompt: 'hi' })
  await keyed.agent.call('estimate', { tool: 'video_create', arguments: { ...video, duration: '5s' } })
  const started = await keyed.agent.call('video_create', { ...video, image: imageFile })
  await keyed.agent.call('job_wait', { job_id: started.output.job_id })
  for (const [name, given] of made) await callByName(keyed.agent, name, given)
  expect(keyed.service.countOf('/x402/top-up')).toBe(2)
  expect(
    JSON.parse(keyed.service.seen.findLast(({ path }) => path.endsWith('/video/queue'))?.body ?? ''),
  ).toHaveProperty('consents.demo')

  retrieve = 'elsewhere'
  const unkeyed = await open('wallet', { losesAnswers: 1, instead: withDownload(others(() => retrieve)) })
  await unkeyed.agent.call('chat', { model: 'm', prompt: 'hi' }).catch(() => {})
  await unkeyed.agent.call('chat', { model: 'm', prompt: 'hi' }).catch(() => {})
  const { job_id } = (await unkeyed.agent.call('video_create', video)).output
  expect((await unkeyed.agent.call('job_wait', { job_id })).output.state).toBe('completed')
  expect((await unkeyed.agent.call('job_delete', { job_id })).output.state).toBe('deleted')

  expect([...new Set([...keyed.leaving(), ...unkeyed.leaving()])].sort()).toEqual(Object.keys(beyond).sort())
  const transactions = ({ path }: Seen) => path.includes('/x402/transactions/')
  expect([keyed, unkeyed].map(({ service }) => service.seen.some(transactions))).toEqual([true, true])
  expect(unkeyed.service.seen.some(({ headers }) => 'idempotency-key' in headers)).toBe(false)
})

const made: readonly (readonly [tool: string, given: object])[] = [
  ['image_create', { model: 'x', prompt: 'a cat' }],
  ['image_edit', { model: 'x', prompt: 'grey', images: [imageFile], quality: 'low' }],
  ['image_edit', { model: 'x', prompt: 'grey', images: [imageFile, imageFile] }],
  ['image_upscale', { model: 'x', image: imageFile }],
  ['image_remove_background', { model: 'x', image: imageFile }],
  ['speech_create', { model: 'x', text: 'hi' }],
  ['transcribe', { model: 'x', file: 'a.wav' }],
  ['music_create', { model: 'x', prompt: 'a waltz' }],
]

/** Queued videos have an address of their own, on the same host. */
const withDownload =
  (instead: NonNullable<PretendOptions['instead']>): NonNullable<PretendOptions['instead']> =>
  (seen, response) => {
    if (!seen.path.endsWith('/video/queue')) return instead(seen, response)
    const download_url = `http://${seen.headers.host}${downloadPath}`
    answerJson(response, 200, { model: 'm', queue_id: 'q', download_url })
    return true
  }

test.each([
  ['a path that is not published', { path: '/api/v1/image/create' }, 'POST /image/create'],
  ['another method', { method: 'PUT' }, 'PUT /video/quote'],
  ['an unknown member', { body: '{"model":"m","duration":"5s","prompt":"x"}' }, /prompt/],
  ['an invalid value', { body: '{"model":"m","duration":"17s"}' }, /duration/],
  ['a member that is missing', { body: '{"model":"m"}' }, /duration/],
  ['an unknown name in the query', { path: '/api/v1/video/quote?x=1' }, 'POST /video/quote: query x'],
  [
    'an unknown header',
    { headers: { 'content-type': 'application/json', 'x-other': '1' } },
    'POST /video/quote: header x-other',
  ],
  ['another content type', { headers: { 'content-type': 'text/plain' } }, 'POST /video/quote: content type text/plain'],
])('the check finds %s', (_, changes, says) => {
  const quote = { method: 'POST', path: '/api/v1/video/quote', headers: { 'content-type': 'application/json' } }
  const found = leavings({ ...quote, body: '{"model":"m","duration":"5s"}', ...changes })
  expect(found).toEqual([typeof says === 'string' ? says : expect.stringMatching(says)])
})
