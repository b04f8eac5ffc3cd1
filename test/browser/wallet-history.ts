import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ReceiptRow, ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import { SigningKey } from '#ledger/charges/receipts.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import type { openAgent } from '../agent/open-agent.ts'

type Agent = Awaited<ReturnType<typeof openAgent>>

export const consent = {
  kind: 'consent',
  provider: 'demo',
  policyText: 'The media are screened before a video is made of them, and are not kept after it.',
  policyVersion: 'v1',
  docsUrl: 'https://example.com/docs',
  faceMediaRoles: ['image'],
} satisfies ApprovalFacts
export const spend = {
  kind: 'spend',
  what: 'A video of 10 s with demo-video',
  amountMicroUsd: microUsd(1_500_000),
  because: 'It may cost more than 1.00 USD, and amounts above that need approval.',
} satisfies ApprovalFacts

const image = readFileSync(new URL('../../icon.png', import.meta.url))

/** Plain figures of a month, from the oldest day to this one. */
const month = [
  12, 0, 31, 44, 8, 0, 0, 25, 61, 38, 22, 9, 0, 0, 47, 55, 30, 12, 90, 0, 0, 33, 41, 58, 74, 20, 0, 5, 66, 49,
]
const bought = [
  ['demo-chat', 'chat', 'A chat', 1_037n],
  ['demo-image', 'image_create', 'An image', 4_100n],
  ['demo-video', 'video_create', 'A video', 11_213n],
] as const

let asks = 0

/** A question about a call that sends an image, each of another request; answers its id. */
export async function askWithImage(
  agent: Agent,
  facts: ApprovalFacts,
  prompt = 'Waves at night, slow camera',
): Promise<string> {
  const output = join(agent.dataFolder, 'output')
  mkdirSync(output, { recursive: true })
  writeFileSync(join(output, 'coast.png'), image)
  const sha256 = createHash('sha256').update(image).digest('hex')
  const files = [{ name: 'coast.png', bytes: image.byteLength, sha256 }]
  const about = {
    tool: 'video_create',
    model: 'demo-video',
    prompt,
    files,
    moreFiles: 0,
    mostMicroUsd: microUsd(1_500_000),
  }
  const call = { origin: 'https://service.example', operation: null, address: null, about }
  return (await agent.approvals.ask(facts, `hash ${++asks}`, call)).approvalId
}

const key = new SigningKey('a secret of a test')
const service = 'https://service.example/api/v1'

export const signedReceipt = (request: string, amount: bigint, model: string): string =>
  key.sign({
    ...{ iss: service, sub: '0xab', iat: 1, kind: 'charge', request, operation: 'createChatCompletion', model },
    ...{ amount_micro_usd: `${amount}`, paid_with: { usd: `${amount}`, diem: '0' }, written_off_micro_usd: '0' },
    lines: [{ sku: 'output', units: '3', unit_price_pico_usd: '1', amount_micro_usd: `${amount}` }],
  })

export const chargeRow = (id: string, change: Partial<ReceiptRow>): ReceiptRow => ({
  ...{
    service,
    id: `charge:${id}`,
    state: 'verified',
    problem: null,
    receipt: null,
    what: 'A chat',
    request: id,
    call: null,
  },
  ...{ tool: 'chat', operation: 'createChatCompletion', model: 'm', saidMicroUsd: null, mostMicroUsd: null, atMs: 1 },
  ...change,
})

/** A month of charges; answers their sum. */
export function spendAMonth(agent: Agent): bigint {
  const rows = new ReceiptRows(agent.state)
  const days = month.flatMap((count, day) => (count === 0 ? [] : [{ count: BigInt(count), day }]))
  const charges = days.flatMap(({ count, day }) =>
    bought.map(([model, tool, what, price]) => ({
      id: `${day}-${tool}`,
      amount: price * count,
      day,
      model,
      tool,
      what,
    })),
  )
  for (const { id, amount, day, model, tool, what } of charges) {
    const atMs = Math.floor(Date.now() / dayMs) * dayMs - (month.length - 1 - day) * dayMs
    rows.add(chargeRow(id, { receipt: signedReceipt(id, amount, model), model, tool, what, atMs }))
  }
  return charges.reduce((sum, { amount }) => sum + amount, 0n)
}
