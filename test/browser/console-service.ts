import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadVersion, versionOf } from '#cli/serve/config.ts'
import { settingsFileOf } from '#cli/serve/settings-file.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs, hourMs, systemClock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { OperatorRole } from '#pages/console/wire.ts'
import { storePayment } from '#payments/payment/payment.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import { modelKinds } from '#service/config/model-config.ts'
import { Listener } from '#service/http/listener.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { landed, signedPayment } from '../payments/driver-world.ts'
import {
  adminToken,
  type OpenedService,
  type OpenServiceOptions,
  openService,
  type TestClock,
} from '../service/open-service.ts'

export interface ServedConsole {
  service: OpenedService
  /** A link as `farebox console` prints it. */
  link(role?: OperatorRole): Promise<string>
  commit(...ops: Op[]): Promise<void>
  /** Of `farebox.yaml`. */
  configText(): Promise<string>
  close(): Promise<void>
}

const configText = `publicUrl: https://api.example
systemPrompt: \${PROMPT}
limits: { types: { image: { requestsPerMinute: 10 } } }
models:
  # Our first one.
  - id: demo-chat
    type: text
    contextTokens: 8192
    price: { inputPerMillionUsd: 0.10, outputPerMillionUsd: 0.40 } # in 2027 less
    upstreams: [{ engine: openai, baseUrl: 'http://10.9.8.7:8000', apiKey: '\${KEY}' }]
`

/** A configuration that this service was not made of: changes are written and checked, and reload nothing. */
async function configOnDisk() {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-console-'))
  const path = join(folder, 'farebox.yaml')
  await writeFile(path, configText)
  const env = { PROMPT: 'Be brief.', KEY: 'a-key-of-an-engine' }
  const { config, version: first } = await loadVersion(path, env)
  let version = first
  const reload = async () => {
    version = versionOf(await readFile(path, 'utf8'))
    return null
  }
  return {
    settingsFile: settingsFileOf({ path, env, started: config.file, loaded: () => version, reload }),
    text: () => readFile(path, 'utf8'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

const triable: readonly string[] = ['demo-chat', 'demo-image', 'demo-speech']

/** Some of the demo's models run on an engine that can be tried. */
const modelsToTry: OpenServiceOptions['models'] = engines =>
  demoModels(engines).map(model => {
    if (!triable.includes(model.id)) return model
    const state = { name: 'near', weight: 1, concurrency: 8, state: 'up', running: 0, calls: 0, failures: {} } as const
    const trial = modelKinds.find(({ type }) => type === model.type)?.trial
    const tryOne = async () => {
      const call = { engineModel: model.engineModel, signal: AbortSignal.timeout(10_000) }
      const made = await trial?.(model.engine as never, model as never, call)
      return { outcome: 'works', word: null, ...(made ? { made } : {}) } as const
    }
    return {
      ...model,
      upstreams: { states: () => [state], waiting: () => 0, queue: { length: 100, waitMs: 30_000 }, tryOne },
    }
  })

/** The chain shows every payment. */
const paymentsThatArrived = (store: Store) =>
  new TopUps({
    ...{ store, clock: systemClock, owner: 'a test', log: { info() {}, warn() {}, error() {} } },
    settings: { publicUrl: 'https://api.example', paymentOptions: [] },
    chain: { find: async () => landed },
    facilitator: {
      ...{ verify: async () => ({ valid: true }), settle: async () => ({ state: 'sent', transaction: '0xfeed' }) },
      ...{ supported: () => [], problem: async () => null },
    },
  })

/** A service whose console listens on a port of this machine. */
export async function serveConsole(): Promise<ServedConsole> {
  const service = await openService({
    clock: systemClock as TestClock,
    payments: paymentsThatArrived,
    models: modelsToTry,
  })
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  const origins = [`http://127.0.0.1:${listener.port}`, `http://localhost:${listener.port}`] as const
  const config = await configOnDisk()
  listener.serve(service.service.openConsole(origins, { settingsFile: config.settingsFile }))
  let units = 0
  return {
    service,
    async link(role = 'owner') {
      const response = await service.request('/admin/v1/console/link', {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}` },
        body: JSON.stringify({ role, by: 'ada' }),
      })
      return ((await response.json()) as { link: string }).link
    },
    async commit(...ops) {
      const [outcome] = await service.store.commit([{ id: `${uuidV7(Date.now())}/${units++}`, ops }])
      if (!outcome?.ok) throw new Error(`The ledger refused ${JSON.stringify(outcome)}.`)
    },
    configText: () => config.text(),
    async close() {
      await listener.close(0)
      await service.close()
      await config.remove()
    },
  }
}

const wallet = '0x36f9a2b1c4d5e6f708192a3b4c5d6e7f80910213'
export const people = ['Harbour Studio', 'Nimbus Labs', 'Orchard School', 'Quarry Games', 'Tidal Research'] as const
const transactionOf = (index: number): string => `0x${createHash('sha256').update(`${index}`).digest('hex')}`

const models = [
  ['demo-chat', 37n],
  ['demo-image', 4_100n],
  ['demo-video', 151_213n],
] as const

/** A month of a small service: customers, charges by day and model, top-ups, one of them stuck, and jobs. */
export async function aMonth(
  { commit }: Pick<ServedConsole, 'commit'>,
  nowMs = Date.now(),
): Promise<{ chargedMicroUsd: bigint }> {
  let chargedMicroUsd = 0n
  const today = nowMs - (nowMs % dayMs)
  const beganMs = today - 29 * dayMs
  for (const [index, name] of people.entries()) {
    const account = `customer-${index}`
    const email = `office@${name.split(' ')[0]?.toLowerCase()}.example`
    const amount = microUsd(300_000_000)
    const payment = `eip155:8453:usdc:${wallet}:top-up-${index}`
    const set = { network: 'eip155:8453', payer: wallet, amount, payload: '{}', transaction: transactionOf(index) }
    await commit(
      { op: 'account', account, kind: 'customer', atMs: beganMs },
      { op: 'customer', account, set: { name, email }, atMs: beganMs },
      { op: 'payment', payment, from: null, to: 'claimed', fence: 0, set, atMs: beganMs },
    )
    await commit(
      { op: 'payment', payment, from: 'claimed', to: 'credited', fence: 1, set: {}, atMs: beganMs },
      { op: 'credit', account, amount, source: 'system:usdc', ref: `topup:${payment}`, atMs: beganMs },
    )
  }
  for (let day = 29; day >= 0; day--) {
    for (const [place, index] of models.flatMap((_, at) => people.map((__, each) => [at, each] as const))) {
      const [model, price] = models[place] ?? ['', 0n]
      const units = BigInt(((day * 7 + index * 5 + place * 3) % 11) * (5 - index))
      if (units === 0n) continue
      const [request, amount] = [`request-${index}-${day}-${place}`, microUsd(units * price)]
      const atMs = today - day * dayMs + 1_000
      const account = `customer-${index}`
      const line = { sku: `${model.slice(5)}.output`, units, unitPricePicoUsd: price * 1_000_000n, amount }
      await commit(
        { op: 'hold', hold: request, account, amount, lease: { owner: 'month', untilMs: atMs + hourMs }, atMs },
        { op: 'capture', hold: request, request, model, lines: [line], atMs },
      )
      chargedMicroUsd += amount
    }
  }
  const signed = signedPayment(1, Math.floor(nowMs / 1_000) - 10_000)
  const stuck = signed.key
  const payload = storePayment(signed)
  const set = { network: 'eip155:8453', payer: wallet, amount: microUsd(5_000_000), payload }
  const atMs = nowMs - 3 * hourMs
  await commit({ op: 'payment', payment: stuck, from: null, to: 'claimed', fence: 0, set, atMs })
  const sent = { transaction: transactionOf(people.length) }
  await commit({ op: 'payment', payment: stuck, from: 'claimed', to: 'unknown', fence: 1, set: sent, atMs })
  return { chargedMicroUsd }
}
