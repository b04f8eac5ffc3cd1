import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, createAgent } from '#agent/create-agent.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

/** Following a refusal's advice works: every value that it lists is accepted. */
let service: Awaited<ReturnType<typeof localService>>
let agent: Agent
const outputFolder = temporaryFolder()

beforeAll(async () => {
  service = await localService()
  agent = await createAgent({
    baseUrl: service.baseUrl,
    wallet: { key: service.wallet.privateKey },
    policy: { payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo: service.payee }], maxDayUsd: '100' },
    dataFolder: temporaryFolder(),
    outputFolder,
    onApproval: () => ({ kind: 'approve', approved: true }),
  })
  const { files } = await agent.call('image_create', { model: 'demo-image', prompt: 'A kite.', width: 64, height: 64 })
  imageFile = files[0]?.path ?? ''
  await writeFile(join(outputFolder, 'tone.wav'), wavOfChunks({ rate: 8_000 }, [3_200]))
}, 60_000)

afterAll(async () => {
  await agent?.close()
  await service?.close()
}, 60_000)

let imageFile = ''

interface Row {
  tool: string
  /** What is right of the arguments. */
  given(): object
  argument: string
  bad: unknown
  /** How a value is made of a word of the list. */
  of?(word: string): unknown
}

const row = (tool: string, given: Row['given'], argument: string, bad: unknown, of?: Row['of']): Row => ({
  ...{ tool, given, argument, bad },
  ...(of ? { of } : {}),
})

const video = () => ({ model: 'demo-video', duration: '2s', prompt: 'x' })
const image = () => ({ model: 'demo-image', prompt: 'x', width: 64, height: 64 })
const speech = () => ({ model: 'demo-speech', text: 'x' })

const rows: readonly Row[] = [
  row('video_create', video, 'duration', '30s'),
  row('video_create', video, 'duration', '4m'),
  row('video_create', video, 'aspect_ratio', '4:5'),
  row('video_create', video, 'aspect_ratio', 'wide'),
  row('video_create', video, 'resolution', '4k'),
  row('video_create', video, 'resolution', '8K'),
  row('image_create', image, 'format', 'bmp'),
  row('image_create', image, 'format', 'webp'),
  row('image_create', image, 'style_preset', 'No Such'),
  row('image_edit', () => ({ model: 'demo-edit', prompt: 'x', images: [imageFile] }), 'aspect_ratio', '9:1'),
  row('speech_create', speech, 'voice', 'nobody'),
  row('speech_create', speech, 'format', 'pcm'),
  row('embeddings_create', () => ({ model: 'demo-embedding', texts: ['x'] }), 'dimensions', 9_999, Number),
  row('chain_rpc', () => ({ method: 'eth_blockNumber' }), 'network', 'nowhere'),
  row('models_find', () => ({}), 'type', 'videos'),
  row('web_read', () => ({}), 'source', 'https://no.example/'),
  row('image_remove_background', () => ({ image: imageFile }), 'model', 'demo-nothing'),
  row('transcribe', () => ({ file: 'tone.wav' }), 'model', 'demo-nothing'),
]

/** The values that a refusal lists for the argument. */
function listedIn(text: string, argument: string): string[] {
  const patterns = [
    new RegExp(`accepts: (?:.*; )?${argument} (?:up to )?(.*?)(?:; |\\. Call again)`),
    new RegExp(`\`${argument}\` must be one of (.*?)(?:, of which|\\. Nothing)`),
    /(?:allowed values: |it has |Models (?:of the type \w+|that remove backgrounds|that write down speech)(?: are|:) |Similar ones(?: are| of the type \w+:) )(.*?)(?:;|\. |\n|$)/,
  ]
  const [found = ''] = patterns.flatMap(pattern => pattern.exec(text)?.[1] ?? [])
  return found.split(', ').map(word => word.replace(/ \(default\)$/, ''))
}

async function answerTo(tool: string, given: object): Promise<string | null> {
  try {
    await callByName(agent, tool, given)
    return null
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error
    return sayFailure(error.facts, 0)
  }
}

const isHedged = (text: string): boolean => text.includes('but a model may support fewer')

test.each(rows)(
  '$tool lists for $argument in place of $bad what is taken',
  async ({ tool, given, argument, bad, of = word => word }) => {
    const refusal = (await answerTo(tool, { ...given(), [argument]: bad })) ?? ''
    const values = listedIn(refusal, argument)
    expect(values.filter(Boolean), refusal).not.toEqual([])
    let taken = 0
    for (const value of values) {
      const again = await answerTo(tool, { ...given(), [argument]: of(value) })
      if (again === null) taken++
      // A list of the contract says that it is wider than that of one model, whose own list then has no exceptions.
      else expect(isHedged(refusal) && listedIn(again, argument).every(each => values.includes(each)), again).toBe(true)
    }
    expect(taken).toBeGreaterThan(0)
    if (refusal.includes('without it')) expect(await answerTo(tool, given())).toBeNull()
  },
  60_000,
)

test('embeddings that could not be saved are reported with their price, and the same call gets them for free', async () => {
  const asked = { model: 'demo-embedding', texts: ['a kite over the sea'] }
  const aside = `${outputFolder}-aside`
  await rename(outputFolder, aside)
  await writeFile(outputFolder, 'no folder')
  const thrown = await agent.call('embeddings_create', asked).catch(error => error)
  await rm(outputFolder)
  await rename(aside, outputFolder)
  expect(thrown).toBeInstanceOf(ToolFailure)
  expect(thrown.facts.charged).toBeGreaterThan(0n)
  expect(thrown.facts.next).toMatch(/FAREBOX_OUTPUT_DIR.*same call again within 10 minutes/)
  const { output } = await agent.call('embeddings_create', asked)
  expect(output).toMatchObject({ charged_usd: 0, already_paid: true, vectors: 1 })
})
