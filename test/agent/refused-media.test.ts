import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, createAgent } from '#agent/create-agent.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'
import { callByName } from './call-by-name.ts'
import { localService } from './local-service.ts'
import { temporaryFolder } from './open-agent.ts'

/** A refused file is named by the argument that gave it, and by what is wrong with it. */
let service: Awaited<ReturnType<typeof localService>>
let agent: Agent
const outputFolder = temporaryFolder()

beforeAll(async () => {
  service = await localService()
  agent = await createAgent({
    baseUrl: service.baseUrl,
    wallet: { key: service.wallet.privateKey },
    policy: { payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo: service.payee }] },
    dataFolder: temporaryFolder(),
    outputFolder,
    onApproval: () => ({ kind: 'approve', approved: true }),
  })
  await writeFile(join(outputFolder, 'tone.wav'), wavOfChunks({ rate: 8_000 }, [3_200]))
  const { output } = await agent.call('image_create', { model: 'demo-image', prompt: 'x', width: 64, height: 64 })
  const [made] = (output as { files: { path: string }[] }).files
  const whole = await readFile(made?.path ?? '')
  await writeFile(join(outputFolder, 'cut-off.png'), whole.subarray(0, whole.length / 2))
}, 60_000)

afterAll(async () => {
  await agent?.close()
  await service?.close()
}, 60_000)

const nextOf = (tool: string, given: object): Promise<string> =>
  callByName(agent, tool, given).then(
    () => expect.unreachable('It was not refused.'),
    ({ facts }) => {
      expect(facts.charged).toBe(0n)
      return facts.next
    },
  )

const cutOff = 'cut-off.png'

test.each([
  ['image_edit', { model: 'demo-edit', prompt: 'x', images: [cutOff] }, 'images'],
  ['image_upscale', { image: cutOff }, 'image'],
  ['image_remove_background', { image: cutOff }, 'image'],
] as const)(
  '%s says that the file which is cut off is damaged, and offers no other value',
  async (tool, given, argument) => {
    const next = await nextOf(tool, given)
    expect(next).toMatch(new RegExp(`\`${argument}\` is damaged`))
    expect(next).not.toContain(' takes: ')
  },
)

test.each([
  ['videos', { videos: ['https://media.example/a.mp4'] }],
  ['audio', { audio: ['tone.wav'] }],
] as const)('a chat whose model takes no %s names that argument, and not the prompt', async (argument, given) => {
  const next = await nextOf('chat', { model: 'demo-chat', prompt: 'x', ...given })
  expect(next).toContain(`\`${argument}\``)
  expect(next).not.toContain('prompt')
})
