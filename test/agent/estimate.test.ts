import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, createAgent } from '#agent/create-agent.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { ToolFailure } from '#toolkit/tool-failure.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

/** The price that `estimate` tells before a call holds for the call itself, with every paid tool of the listing. */
let service: Awaited<ReturnType<typeof localService>>
let agent: Agent
const outputFolder = temporaryFolder()
const open = (policy: object = {}) =>
  createAgent({
    baseUrl: service.baseUrl,
    wallet: { key: service.wallet.privateKey },
    policy: { payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo: service.payee }], ...policy },
    dataFolder: temporaryFolder(),
    outputFolder,
  })

beforeAll(async () => {
  service = await localService()
  agent = await open()
  await writeFile(join(outputFolder, 'tone.wav'), wavOfChunks({ rate: 8_000 }, [8_000]))
  await agent.call('image_create', { model: 'demo-image', prompt: 'x', width: 64, height: 64 }).then(({ files }) => {
    image = files[0]?.path ?? ''
  })
}, 90_000)
afterAll(async () => {
  await agent?.close()
  await service?.close()
}, 60_000)

let image = ''
const estimated = async (tool: string, given: object) =>
  (await agent.call('estimate', { tool, arguments: { ...given } })).output

const calls: [tool: string, given: () => Record<string, unknown>][] = [
  ['chat', () => ({ model: 'demo-chat', prompt: 'Say hello.', max_tokens: 20 })],
  ['image_create', () => ({ model: 'demo-image', prompt: 'y', width: 64, height: 64, variants: 2 })],
  ['image_edit', () => ({ model: 'demo-edit', prompt: 'grey', images: [image] })],
  ['image_upscale', () => ({ image })],
  ['image_remove_background', () => ({ image })],
  ['speech_create', () => ({ model: 'demo-speech', text: 'Hello.' })],
  ['transcribe', () => ({ model: 'demo-asr', file: 'tone.wav' })],
  ['music_create', () => ({ model: 'demo-music', prompt: 'A waltz.', duration_seconds: 2 })],
  ['video_create', () => ({ model: 'demo-video', prompt: 'A kite.', duration: '2s', resolution: '360p' })],
  ['web_search', () => ({ query: 'kites' })],
  ['embeddings_create', () => ({ model: 'demo-embedding', texts: ['kites'] })],
]

test.each(calls)(
  '%s costs at most its estimate, which buys nothing',
  async (tool, given) => {
    const before = (await agent.call('wallet_status')).output.credit_usd
    const { at_most_usd, approval } = await estimated(tool, given())
    expect((await agent.call('wallet_status')).output.credit_usd).toBe(before)
    expect(approval).toBe('not_needed')
    const { output } = await callByName(agent, tool, { ...given(), again: true })
    expect(output.charged_usd).toBeGreaterThan(0)
    expect(output.charged_usd).toBeLessThanOrEqual(Number(at_most_usd))
  },
  60_000,
)

test('a free tool costs nothing, and a top-up its amount', async () => {
  expect(await estimated('models_find', {})).toMatchObject({ at_most_usd: 0, approval: 'not_needed' })
  expect(await estimated('wallet_top_up', { amount_usd: 5 })).toMatchObject({ at_most_usd: 5, approval: 'needed' })
})

test('it predicts the wallet’s decision: approval above the threshold, refusal above the cap', async () => {
  const video = { model: 'demo-video', prompt: 'A kite.', duration: '2s', resolution: '360p' }
  const by = async (policy: object) => {
    const other = await open(policy)
    const { output, text } = await other.call('estimate', { tool: 'video_create', arguments: video })
    await other.close()
    return { approval: output.approval, text }
  }
  const asks = await by({ askAboveUsd: '0' })
  expect(asks.approval).toBe('needed')
  expect(asks.text).toMatch(/The user must approve it\. It may cost more than 0\.00 USD/)
  const refuses = await by({ maxCallUsd: '0.000001' })
  expect(refuses.approval).toBe('refused')
  expect(refuses.text).toContain('The wallet refuses it.')
})

test('an unknown price is null, and the call asks the user', async () => {
  const given = { model: 'demo-chat', prompt: 'x', max_tokens: 9, service_parameters: { enable_web_search: 'on' } }
  expect(await estimated('chat', given)).toMatchObject({ at_most_usd: null, approval: 'needed' })
})

test.each([
  ['an unknown tool', { tool: 'chatt' }, /No tool is called chatt\..* The tools are chat\b/],
  ['wrong arguments', { tool: 'chat', arguments: { prompt: 'x' } }, /Invalid arguments for chat: `model` is missing/],
  [
    'a value that the model has not',
    { tool: 'video_create', arguments: { model: 'demo-video', prompt: 'x', duration: '30s' } },
    /demo-video accepts: duration 2s/,
  ],
])('%s is reported as by the call itself, without advice to make the call', async (_what, given, says) => {
  const refused: ToolFailure = await agent.call('estimate', given).then(
    () => null,
    error => error,
  )
  expect(refused.message).toMatch(says)
  expect(refused.facts.charged).toBe(0n)
})
