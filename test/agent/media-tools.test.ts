import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent } from '#agent/create-agent.ts'
import type { AgentToolResult } from '#agent/tools/agent-tool.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { type LocalAgent, localAgent } from './local-agent.ts'

/** The tools of images and sound before the real service and its demonstrations. */
let local: LocalAgent
let agent: Agent
let outputFolder = ''

beforeAll(async () => {
  // Every price is in a record, so that no call needs approval for an unknown price.
  local = await localAgent()
  ;({ agent, outputFolder } = local)
  await writeFile(join(outputFolder, 'tone.wav'), wavOfChunks({ rate: 8_000 }, [32_000]))
}, 60_000)

afterAll(() => local?.close(), 60_000)

const png = '89504e470d0a1a0a'

async function startsWith({ files: [file] }: AgentToolResult, hex: string): Promise<void> {
  expect(file?.path.startsWith(outputFolder)).toBe(true)
  const bytes = await readFile(file?.path ?? '')
  expect(bytes.subarray(0, hex.length / 2).toString('hex')).toBe(hex)
}

/** An image to begin with; the same one for every caller, bought once. */
let begun: Promise<string> | undefined
const imageFile = (): Promise<string> => {
  begun ??= agent
    .call('image_create', { model: 'demo-image', prompt: 'A kite.', width: 64, height: 64 })
    .then(({ files }) => files[0]?.path ?? '')
  return begun
}

test('images are saved, one as its bytes and several of one answer each in a file of its own', async () => {
  const prompt = 'A boat.'
  const one = await agent.call('image_create', { model: 'demo-image', prompt, width: 64, height: 64 })
  await startsWith(one, png)
  expect(one.output).toMatchObject({ model: 'demo-image', charged_usd: 0.01, budget_left_usd: expect.any(Number) })
  const two = await agent.call('image_create', { model: 'demo-image', prompt, width: 64, height: 64, variants: 2 })
  expect(two.output).toMatchObject({ model: 'demo-image', charged_usd: 0.02 })
  expect(new Set(two.files.map(({ path }) => path)).size).toBe(2)
  await startsWith(two, png)
  expect(two.text.match(/^Saved: /gm)).toHaveLength(2)
}, 60_000)

test.each([
  ['one image is edited', 1],
  ['two images become one', 2],
])(
  '%s',
  async (_rule, count) => {
    const images = Array.from({ length: count }, () => imageFile())
    const edited = await agent.call('image_edit', {
      model: 'demo-edit',
      prompt: `grey, of ${count}`,
      images: await Promise.all(images),
    })
    await startsWith(edited, png)
    expect(edited.output).toMatchObject({ model: 'demo-edit', charged_usd: 0.02 })
    expect(edited.files[0]?.path).toContain('demo-edit')
  },
  60_000,
)

test('an image is enlarged, and its background removed', async () => {
  const image = await imageFile()
  const large = await agent.call('image_upscale', { image, scale: 2, model: 'demo-upscale' })
  await startsWith(large, png)
  const { path = '' } = large.files[0] ?? {}
  // The width and the height stand in the header of a PNG.
  const header = await readFile(path)
  expect([header.readUInt32BE(16), header.readUInt32BE(20)]).toEqual([128, 128])
  const cut = await agent.call('image_remove_background', { image })
  await startsWith(cut, png)
  expect(cut.output).toMatchObject({ charged_usd: 0.01 })
}, 60_000)

test('a text is spoken into an audio file', async () => {
  const spoken = await agent.call('speech_create', { model: 'demo-speech', text: 'Good morning.', format: 'wav' })
  await startsWith(spoken, Buffer.from('RIFF').toString('hex'))
  expect(spoken.files[0]?.mimeType).toBe('audio/wav')
  expect(spoken.output).toMatchObject({ charged_usd: 0.00013 })
}, 60_000)

test('a recording is sent as a form, and its words come back as data', async () => {
  const heard = await agent.call('transcribe', { model: 'demo-asr', file: 'tone.wav' })
  expect(heard.output).toMatchObject({ model: 'demo-asr', seconds: 2, charged_usd: 0.0002, cut_characters: 0 })
  expect(heard.text).toMatch(/^<<< transcript by demo-asr, untrusted data\n/)
  expect(heard.files).toEqual([])
}, 60_000)

test('music is started, waited for, saved, and deleted at the service', async () => {
  const asked = { model: 'demo-music', prompt: 'A waltz.', duration_seconds: 2 }
  const started = await agent.call('music_create', asked)
  expect(started.output).toMatchObject({ state: 'running', charged_usd: 0.002 })
  const again = await agent.call('music_create', asked)
  expect(again.output).toMatchObject({ job_id: started.output.job_id, charged_usd: 0, already_paid: true })
  const { job_id } = started.output
  const done = await agent.call('job_wait', { job_id })
  expect(done.output).toMatchObject({ state: 'completed', file: { mime_type: expect.stringMatching(/^audio\//) } })
  const { path = '' } = done.files[0] ?? {}
  expect((await readFile(path)).byteLength).toBe((done.output.file as { bytes: number }).bytes)
  expect((await agent.call('job_delete', { job_id })).output).toEqual({ job_id, state: 'deleted' })
  expect((await agent.call('job_wait', { job_id })).output).toMatchObject({ state: 'deleted' })
  expect((await readFile(path)).byteLength).toBeGreaterThan(0)
}, 60_000)

test.each([
  [
    'a style',
    'image_create',
    { model: 'demo-image', prompt: 'x', style_preset: 'No Such' },
    /Demo Poster, Demo Sketch/,
  ],
  ['a width', 'image_create', { model: 'demo-image', prompt: 'x', width: 65 }, /width and height in steps of 8/],
  [
    'a resolution',
    'image_edit',
    { model: 'demo-edit', prompt: 'x', images: ['a'], resolution: '9K' },
    /^Change `resolution` as described below/,
  ],
  ['a voice', 'speech_create', { model: 'demo-speech', text: 'x', voice: 'nobody' }, /voice \S+ \(default\), /],
  [
    'a duration',
    'music_create',
    { model: 'demo-music', prompt: 'x', duration_seconds: 99 },
    /duration_seconds 1 to 30/,
  ],
])(
  '%s that a model does not take is refused with what it takes, and costs nothing',
  async (_what, tool, given, next) => {
    const images = 'images' in given ? { images: [await imageFile()] } : {}
    const before = await agent.call('wallet_status', {})
    await expect(callByName(agent, tool, { ...given, ...images })).rejects.toMatchObject({
      facts: { charged: 0n, next: expect.stringMatching(next) },
    })
    expect((await agent.call('wallet_status', {})).output.credit_usd).toBe(before.output.credit_usd)
  },
  60_000,
)

test('a model of another type is named with its type', async () => {
  await expect(agent.call('image_create', { model: 'demo-chat', prompt: 'x' })).rejects.toMatchObject({
    facts: { charged: 0n, happened: expect.stringContaining('demo-chat is not an image model') },
  })
})

test('models_find lists the choices of image and audio models', async () => {
  const { text, output } = await agent.call('models_find', { query: 'demo-music' })
  expect(output.models).toMatchObject([{ takes: expect.arrayContaining(['duration_seconds 1 to 30']) }])
  expect(text).toContain('lyrics_prompt up to 2000 characters')
  expect((await agent.call('models_find', { type: 'tts' })).text).toMatch(/takes voice \S+ \(default\)/)
})
