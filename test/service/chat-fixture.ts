import { pricePerMillion } from '#contract/money.ts'
import { countPromptTokens } from '#engines/tokens/count-tokens.ts'
import type { TextModel } from '#service/models/model.ts'
import { ScriptedChat } from './chat-script.ts'
import { textModel } from './models/example-models.ts'
import { type OpenedService, type OpenServiceOptions, openService } from './open-service.ts'

/** A micro-USD a prompt token and ten a completion token, so that every figure of a charge can be read. */
export const inputMicroUsd = 1n
export const outputMicroUsd = 10n
const price = { inputPicoUsd: pricePerMillion('1') ?? 0n, outputPicoUsd: pricePerMillion('10') ?? 0n }

export interface Customer {
  key: string
  account: string
}

export interface TestLedger {
  charged: bigint
  writtenOff: bigint
  staking: bigint
  refunded: bigint
  /** Of the lines that were charged. */
  skus: string[]
  units: bigint[]
}

/** The real service with a model behind which a script plays. */
export interface ChatFixture {
  service: OpenedService
  engine: ScriptedChat
  customer(usd: number): Promise<Customer>
  /** Sends a chat of that customer. */
  chat(customer: Customer, body?: object, init?: RequestInit): Promise<Response>
  ledger(account: string): Promise<TestLedger>
  openHolds(): Promise<number>
}

export const hello = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }

/** What its prompt costs, in micro-USD: one a token, beside ten for a token of the answer. */
export const prompt =
  inputMicroUsd * BigInt(countPromptTokens({ model: hello.model, messages: [{ role: 'user', content: 'hello' }] }))

export async function openFixture(
  options: OpenServiceOptions & { model?: Partial<TextModel> } = {},
): Promise<ChatFixture> {
  const engine = new ScriptedChat()
  const model = textModel({ id: 'scripted', price, tier: 'XS', engine, ...options.model })
  const service = await openService({ models: () => [model], ...options })
  const { read } = service.store
  return {
    service,
    engine,
    async customer(usd) {
      const key = await service.key(usd)
      const rows = await read.selectFrom('api_key').select('account').orderBy('id', 'desc').limit(1).execute()
      return { key, account: rows[0]?.account ?? '' }
    },
    chat: ({ key }, body = {}, init = {}) =>
      service.request('/api/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ ...hello, ...body }),
        ...init,
      }),
    async ledger(account) {
      const rows = await read.selectFrom('entry').selectAll().where('account', '=', account).orderBy('seq').execute()
      const sum = (kind: string) => rows.filter(row => row.kind === kind).reduce((all, row) => all + row.amount, 0n)
      const lines = rows.filter(row => row.kind === 'CHARGE')
      return {
        charged: sum('CHARGE') - sum('WRITE_OFF'),
        writtenOff: sum('WRITE_OFF'),
        staking: sum('STAKING'),
        refunded: sum('REFUND'),
        skus: lines.map(({ sku }) => sku ?? ''),
        units: lines.map(({ units }) => units ?? 0n),
      }
    },
    openHolds: async () => (await read.selectFrom('hold').select('id').execute()).length,
  }
}

/** Data of each event of a stream, `[DONE]` included. */
export const eventsOf = (text: string): string[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map(event => event.replace(/^data: /, ''))
