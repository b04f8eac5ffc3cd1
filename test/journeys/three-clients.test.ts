import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawImage } from '#cli/up/journey.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { localService } from '../agent/local-service.ts'
import { atTerminal } from '../cli/at-terminal.ts'
import { type Product, spawnProduct } from '../conformance/mcp/spawn-product.ts'
import type { JourneyClient, JourneyUser, ToolAnswer } from './clients/client.ts'
import { inspectorClient } from './clients/inspector.ts'
import { officialClient } from './clients/official.ts'
import { scriptedClient } from './clients/script.ts'

/** The whole way by programs that share nothing but the protocol, each with a wallet of its own, before one local service. */
let service: Awaited<ReturnType<typeof localService>>
beforeAll(async () => {
  service = await localService()
}, 90_000)
afterAll(() => service?.close(), 60_000)

/** `farebox mcp --http` with a wallet that nothing has been bought by. */
async function productWithWallet(): Promise<Product> {
  const key = generatePrivateKey()
  const address = privateKeyToAddress(key)
  await fundFromFaucet({ dataDir: service.root, address, amountMicroUsd: 25_000_000n })
  return spawnProduct({
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_WALLET_KEY: key,
    FAREBOX_PAYEE: service.payee,
  })
}

const user: JourneyUser = { agrees: true, shown: [] }

interface Way {
  open(product: Product): Promise<JourneyClient> | JourneyClient
  /** If a client shows no form, the user decides at a terminal. */
  asksBy: 'form' | 'terminal'
  tags?: string[]
}

const ways: Record<string, Way> = {
  'the official client of an older protocol': {
    open: product => officialClient(product, user, 'legacy'),
    asksBy: 'form',
  },
  'the official client of the newest protocol': {
    open: product => officialClient(product, user, 'modern'),
    asksBy: 'form',
  },
  'a script without a library': { open: product => scriptedClient(product, user), asksBy: 'form' },
  'the inspector': { open: inspectorClient, asksBy: 'terminal', tags: ['protocol'] },
}

const video = {
  model: 'demo-video',
  prompt: 'A lighthouse in fog, its beam turning',
  duration: '4s',
  resolution: '480p',
  aspect_ratio: '16:9',
}

for (const [name, { open, asksBy, tags = [] }] of Object.entries(ways))
  describe(name, { tags }, () => {
    let product: Product
    let client: JourneyClient
    beforeAll(async () => {
      product = await productWithWallet()
      client = await open(product)
    }, 60_000)
    afterAll(async () => {
      await client?.close()
      await product?.close()
    }, 60_000)

    async function call(tool: string, given: Record<string, unknown> = {}): Promise<ToolAnswer> {
      const answer = await client.call(tool, given)
      expect([answer.isError, answer.isError && answer.text]).toEqual([false, false])
      return answer
    }

    /** Buys with an image that has a face; each has a different sky, so that it has no consent yet. */
    async function buyWithFace(agrees: boolean): Promise<{ answer: ToolAnswer; shown: string }> {
      const image = join(product.folder, 'files', `${name.replaceAll(' ', '-')}-${agrees}.png`)
      await writeFile(image, await drawImage(Object.keys(ways).indexOf(name) * 977_000 + (agrees ? 431_000 : 0)))
      const given = { ...video, image, again: true }
      user.agrees = agrees
      user.shown = []
      const first = await call('video_create', given)
      if (asksBy === 'form') return { answer: first, shown: user.shown.join('\n') }
      expect(first.data.status).toBe('needs_approval')
      const decision = ['approve', String(first.data.approval_id), '--data', product.folder]
      const env = { XDG_STATE_HOME: product.folder }
      await atTerminal(agrees ? decision : [...decision, '--deny'], agrees ? ['yes', 'yes', 'yes'] : [], env)
      return { answer: await client.call('video_create', given), shown: first.text }
    }

    test('free tools answer', async () => {
      const { data } = await call('models_find', { type: 'video' })
      expect(data.models).toContainEqual(expect.objectContaining({ id: 'demo-video' }))
      expect((await call('limits')).data.models).not.toEqual([])
    }, 60_000)

    test('a chat is paid', async () => {
      const { data } = await call('chat', { model: 'demo-chat', prompt: 'Hello', max_tokens: 30, again: true })
      expect(data.answer).toBeTruthy()
      expect(data.charged_usd).toBeGreaterThan(0)
    }, 60_000)

    test('a video costs its quote, and is a file at the end', async () => {
      const quoted = (await call('estimate', { tool: 'video_create', arguments: video })).data.at_most_usd
      const created = await call('video_create', { ...video, again: true })
      expect(created.data.charged_usd).toBe(quoted)
      let waited = await call('job_wait', { job_id: created.data.job_id })
      for (let more = 0; more < 4 && waited.data.state === 'running'; more += 1) {
        waited = await call('job_wait', { job_id: created.data.job_id })
      }
      const { path } = waited.data.file as { path: string }
      expect((await readFile(path)).subarray(4, 8).toString()).toBe('ftyp')
    }, 120_000)

    test('a user who denies the policy pays nothing', async () => {
      const before = (await call('wallet_status')).data.credit_usd
      const { answer, shown } = await buyWithFace(false)
      expect(shown).toMatch(/likeness/)
      expect(answer.data.job_id).toBeUndefined()
      expect((await call('wallet_status')).data.credit_usd).toBe(before)
    }, 60_000)

    test('a user who was shown the policy and agrees has the video made', async () => {
      const { answer, shown } = await buyWithFace(true)
      expect(shown).toMatch(/likeness/)
      expect(answer.data.job_id).toBeTruthy()
      expect(answer.data.charged_usd).toBeGreaterThan(0)
    }, 60_000)

    test('the wallet reports its payments and charges', async () => {
      const { data } = await call('wallet_status')
      expect(data).toMatchObject({ pays: 'wallet', unresolved_payments: 0 })
      const { receipts, charges } = (await call('wallet_receipts', { limit: 50 })).data as Record<string, unknown[]>
      expect(receipts?.[0]).toMatchObject({ state: 'confirmed' })
      expect(charges?.length).toBeGreaterThanOrEqual(3)
    }, 60_000)
  })
