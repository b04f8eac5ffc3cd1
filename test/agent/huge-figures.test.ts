import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { keptReceipts, longCallMs, paidAnswerMs } from '#agent/bounds.ts'
import { keptCharges, ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { openState, stateFileName } from '#wallet/records/state.ts'
import { answerJson } from '../client/little-server.ts'
import { asAssistant } from './as-assistant.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

type Agent = Awaited<ReturnType<typeof openAgent>>

async function opened(dataFolder: string, service: PretendOptions, more: Partial<AgentSetUp> = {}) {
  const server = await pretendService({ credit: 5, ...service })
  onTestFinished(server.close)
  const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder, ...more })
  onTestFinished(agent.close)
  return agent
}

const output = async (agent: Agent, name: string, given: object = {}) =>
  (await asAssistant(agent.host, name, given)).output

const chat = { model: 'm', prompt: 'hi' }

/** Changes a file of the folder directly. */
function inFile(folder: string, ...statements: string[]): void {
  const db = new DatabaseSync(join(folder, stateFileName))
  for (const statement of statements) db.exec(statement)
  db.close()
}

test('an impossible charge counts as unknown', async () => {
  const agent = await opened(temporaryFolder(), { told: () => 999_999_999_999, takesKeys: true })
  expect(await output(agent, 'chat', chat)).toMatchObject({ answer: 'answer 1', credit_left_usd: null })
  expect(await output(agent, 'job_list')).toMatchObject({ jobs: [] })
})

test('amounts beyond 2⁵³ that were kept of a job break no look at it, nor at others', async () => {
  const dataFolder = temporaryFolder()
  let isReleased = false
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const pause: AgentSetUp['pause'] = async ms => {
    if (ms === paidAnswerMs || (ms === longCallMs && isReleased)) return new Promise(() => {})
    if (ms === longCallMs) return arrived
    await new Promise(resolve => setImmediate(resolve))
  }
  const instead = async ({ path }: { path: string }) => {
    if (!path.endsWith('/chat/completions') || isReleased) return false
    arrive()
    await held
    return false
  }
  const agent = await opened(dataFolder, { takesKeys: true, instead }, { pause })
  const { job_id } = await output(agent, 'chat', chat)
  isReleased = true
  release()
  await agent.paidCalls.settled()
  const huge = '999999999999000000'
  inFile(
    dataFolder,
    `UPDATE jobs SET price_micro_usd = ${huge}, typical_ms = ${huge}`,
    `UPDATE paid_calls SET charged_micro_usd = ${huge}, credit_left_micro_usd = ${huge}, allowed_micro_usd = ${huge}`,
  )
  expect(await output(agent, 'job_list')).toMatchObject({ jobs: [{ job_id, state: 'completed', price_usd: null }] })
  expect(await output(agent, 'chat', chat)).toMatchObject({ answer: 'answer 1', charged_usd: 0 })
  expect(await output(agent, 'job_wait', { job_id })).toMatchObject({ answer: 'answer 1', charged_usd: null })
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signedBy = (nobody: string, iat: number) => {
  const header = { alg: 'EdDSA', typ: 'farebox-receipt+jwt', kid: nobody }
  const claims = {
    ...{ iss: 'x', sub: 'x', iat, kind: 'charge', request: 'r1', operation: null, model: null },
    ...{ amount_micro_usd: '1', paid_with: { usd: '1', diem: '0' }, lines: [], written_off_micro_usd: '0' },
  }
  return `${part(header)}.${part(claims)}.${'A'.repeat(86)}`
}

const atMs = Date.UTC(2026, 10, 22)
const clock = { now: () => atMs }

test.each<[string, number]>([
  ['beyond what is exact', Number.MAX_SAFE_INTEGER],
  ['beyond the last day', 8_700_000_000_000],
  ['before all', -8_700_000_000_000],
  ['of the next year', Date.UTC(2027, 10, 22) / 1000],
])('a receipt with a time %s is listed by the time when it arrived', async (_rule, iat) => {
  const instead: PretendOptions['instead'] = ({ path }, response) => {
    if (!path.includes('/farebox/receipts')) return false
    const data = [{ kind: 'charge', request: 'r1', receipt: signedBy('k', iat) }]
    answerJson(response, 200, { object: 'list', data, next: null })
    return true
  }
  const dataFolder = temporaryFolder()
  const agent = await opened(dataFolder, { instead }, { clock })
  for (let look = 0; look < 2; look++)
    expect(await agent.toolWallet.charges(10)).toMatchObject([{ id: 'charge:r1', atMs }])
  const other = await opened(dataFolder, {}, { clock })
  expect(await output(other, 'wallet_receipts')).toMatchObject({
    charges: [expect.stringContaining(new Date(atMs).toISOString())],
  })
  expect(keptCharges(dataFolder, 10)).toMatchObject([{ id: 'charge:r1', atMs }])
})

const rowOf = (service: string, id: string) => ({
  ...{
    service,
    id,
    state: 'unsigned' as const,
    problem: null,
    receipt: null,
    what: null,
    request: null,
    call: null,
    tool: null,
  },
  ...{ operation: null, model: null, saidMicroUsd: null, mostMicroUsd: null, atMs },
})

test('one service’s receipts push out none of another’s', () => {
  const folder = temporaryFolder()
  const state = openState(folder)
  const rows = new ReceiptRows(state)
  rows.add({ ...rowOf('https://quiet.example', 'charge:q'), atMs: atMs - 1 })
  state.close()
  inFile(
    folder,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${keptReceipts + 10})
     INSERT INTO charge_receipts (service, id, state, at_ms, comes_later) SELECT 'https://loud.example', 'charge:' || i, 'unsigned', ${atMs}, 0 FROM n`,
  )
  rows.add(rowOf('https://loud.example', 'charge:one more'))
  expect(rows.find('https://quiet.example', 'charge:q')).not.toBeNull()
  expect(rows.find('https://loud.example', 'charge:one more')).not.toBeNull()
  expect(rows.list(keptReceipts + 20)).toHaveLength(keptReceipts + 1)
  state.close()
})
