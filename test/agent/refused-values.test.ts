import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, createAgent } from '#agent/create-agent.ts'
import { catalogue } from '#agent/tools/catalogue.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

/** What every tool tells of a value that is refused: its own argument, and what is allowed there. */
let service: Awaited<ReturnType<typeof localService>>
let agent: Agent
const outputFolder = temporaryFolder()
const asked: string[] = []

beforeAll(async () => {
  service = await localService()
  agent = await createAgent({
    baseUrl: service.baseUrl,
    wallet: { key: service.wallet.privateKey },
    policy: { payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo: service.payee }] },
    dataFolder: temporaryFolder(),
    outputFolder,
    onApproval: question => {
      asked.push(question.summary)
      return { kind: 'approve', approved: true }
    },
  })
  await writeFile(join(outputFolder, 'tone.wav'), wavOfChunks({ rate: 8_000 }, [3_200]))
  await writeFile(join(outputFolder, 'text.txt'), 'words')
  const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await writeFile(join(outputFolder, 'pixel.png'), Buffer.from(onePixel, 'base64'))
}, 60_000)

afterAll(async () => {
  await agent?.close()
  await service?.close()
}, 60_000)

/** Who refuses: the tool's own schema, the model's record before anything is sent, or the service. */
type Who = 'schema' | 'record' | 'service' | 'here'

interface Row {
  tool: string
  given: object
  argument: string
  allowed: RegExp
  who: Who
}

const row = (tool: string, given: object, who: Who, argument: string, allowed: RegExp): Row => ({
  ...{ tool, given, who, argument, allowed },
})

const video = { model: 'demo-video', duration: '4s' }
const image = 'pixel.png'

const rows: readonly Row[] = [
  row('estimate', { tool: 'chatt' }, 'here', 'tool', /The tools are chat\b/),
  row('chain_rpc', { network: 'nowhere', method: 'eth_blockNumber' }, 'service', 'network', /local-evm/),
  row('characters_find', { limit: 99 }, 'schema', 'limit', /at most 20/),
  row('chat', { model: 'demo-chatt', prompt: 'x' }, 'here', 'model', /demo-chat;/),
  row('embeddings_create', { model: 'demo-embeddin', texts: ['x'] }, 'here', 'model', /demo-embedding/),
  row('image_create', { model: 'demo-imag', prompt: 'x' }, 'here', 'model', /demo-image/),
  row('image_edit', { model: 'demo-edi', prompt: 'x', images: [image] }, 'here', 'model', /demo-edit/),
  row('image_upscale', { model: 'demo-upscal', image }, 'here', 'model', /demo-upscale/),
  row('speech_create', { model: 'demo-speec', text: 'x' }, 'here', 'model', /demo-speech/),
  row('music_create', { model: 'demo-musi', prompt: 'x' }, 'service', 'model', /demo-music/),
  row('video_create', { ...video, model: 'demo-vide', prompt: 'x' }, 'service', 'model', /demo-video/),
  row('embeddings_create', { model: 'demo-embedding', texts: ['x'], dimensions: 5_000 }, 'record', 'dimensions', /256/),
  row('image_create', { model: 'demo-image', prompt: 'x', width: 65 }, 'record', 'width', /in steps of 8/),
  row('image_create', { model: 'demo-image', prompt: 'x', format: 'webp' }, 'service', 'format', /values: png/),
  row('image_create', { model: 'demo-image', prompt: '' }, 'schema', 'prompt', /must not be empty/),
  row(
    'image_create',
    { model: 'demo-image', prompt: 'x', style_preset: 'No Such' },
    'service',
    'style_preset',
    /demo-image accepts: style_preset Demo Poster, Demo Sketch\. Call again with one of these, or without it\./,
  ),
  row(
    'image_edit',
    { model: 'demo-edit', prompt: 'x', images: [image] },
    'service',
    'images',
    /at least 8 pixels on each side/,
  ),
  row('image_remove_background', { image }, 'service', 'image', /at least 8 pixels on each side/),
  row('image_remove_background', { image, model: 'demo' }, 'here', 'model', /demo-background/),
  row('image_upscale', { image, scale: 1 }, 'service', 'scale', /use a larger one/),
  row('job_delete', { job_id: 'nothing' }, 'here', 'job', /job_list/),
  row('job_list', { limit: 0 }, 'schema', 'limit', /at least 1/),
  row('job_wait', { job_id: 'nothing', wait_seconds: 99 }, 'schema', 'wait_seconds', /at most 45/),
  row('limits', { name: 'x' }, 'schema', 'name', /the arguments are model/),
  row('models_find', { type: 'videos' }, 'schema', 'type', /asr, embedding, .*video, .*all/),
  row(
    'music_create',
    { model: 'demo-music', prompt: 'x', duration_seconds: 99 },
    'record',
    'duration_seconds',
    /1 to 30/,
  ),
  row(
    'speech_create',
    { model: 'demo-speech', text: 'x', voice: 'nobody' },
    'service',
    'voice',
    /accepts: voice \S+ \(default\), /,
  ),
  row('transcribe', { model: 'demo-as', file: 'tone.wav' }, 'here', 'model', /demo-asr/),
  row('usage_report', { days: 0 }, 'schema', 'days', /at least 1/),
  row(
    'video_create',
    { ...video, prompt: 'x', duration: '30s' },
    'record',
    'duration',
    /duration 2s, 3s, .*1 gen\. Call again with one of these\./,
  ),
  row(
    'video_create',
    { ...video, prompt: 'x', end_image: image },
    'service',
    'end_image',
    /does not support end_image_url; leave it out/,
  ),
  row(
    'video_create',
    { ...video, prompt: 'x', duration: '4m' },
    'schema',
    'duration',
    /30s, 1 gen, Auto, but a model may support fewer/,
  ),
  row(
    'video_create',
    { ...video, prompt: 'x', aspect_ratio: '4:5' },
    'record',
    'aspect_ratio',
    /16:9, 9:16, .* or without it\./,
  ),
  row('video_create', { ...video, prompt: 'x', model: 'demo-image' }, 'here', 'model', /Video models are demo-video/),
  row('voice_clone', { recording: 'tone.wav', model: 'demo-speech' }, 'service', 'model', /./),
  row('wallet_receipts', { limit: 99 }, 'schema', 'limit', /at most 50/),
  row('wallet_status', { of: 'me' }, 'schema', 'of', /this tool has no arguments/),
  row('wallet_top_up', { amount_usd: 1 }, 'schema', 'amount_usd', /at least 5/),
  row('web_read', { source: 'https://no.example/' }, 'service', 'source', /allowed values: https:/),
  row('web_read', { source: 'ftp://no.example/' }, 'here', 'source', /https:/),
  row('web_search', { query: 'x', limit: 99 }, 'schema', 'limit', /at most 20/),
]

async function refusalOf({ tool, given }: Pick<Row, 'tool' | 'given'>): Promise<ToolFailure> {
  const error = await callByName(agent, tool, given).then(
    () => null,
    thrown => thrown,
  )
  expect(error).toBeInstanceOf(ToolFailure)
  return error
}

test.each(rows)('$tool names $argument, which is refused by $who, and what is allowed', async one => {
  asked.length = 0
  const { facts, message } = await refusalOf(one)
  // No approval is requested for what no service sells.
  if (one.argument === 'model') expect(asked).toEqual([])
  const text = sayFailure(facts, 0)
  const ours = text.replaceAll(/^<<< [\s\S]*/gm, '')
  expect(ours).toContain(one.argument)
  expect(text).toMatch(one.allowed)
  expect(facts.charged).toBe(0n)
  expect(message).toBe(`${facts.happened} ${facts.next}`)
  expect(text.includes('<<< message of the service, untrusted data')).toBe(one.who === 'service')
  if (one.who === 'record') expect(facts.happened).toMatch(/nothing was sent/i)
})

test('there is such a row for every tool', () => {
  expect([...new Set(rows.map(({ tool }) => tool))].sort()).toEqual(Object.keys(catalogue.tools).sort())
})
