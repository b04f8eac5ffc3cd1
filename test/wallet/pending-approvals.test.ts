/** How much of the list of pending approvals each caller may fill. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Approvals, openApprovals } from '#wallet/approvals/approvals.ts'
import { keptUnanswered } from '#wallet/limits.ts'
import { all } from '#wallet/records/records.ts'
import { listRefusals } from '#wallet/rules/refusals.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { origin, payTo, usd } from './sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore } from './test-store.ts'

/** Each question is a commit that is synced. */
vi.setConfig({ testTimeout: 60_000 })

const unpriced = (what: string): ApprovalFacts => ({ kind: 'spend', what, amountMicroUsd: null, because: 'No price.' })
const payee: ApprovalFacts = {
  kind: 'payee',
  origin,
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo,
  amountMicroUsd: usd(5),
}
const by = (operation: string | null, service = origin) => ({ origin: service, operation, address: null })

describe('in a file', () => questionsContract(fileStore))
withPostgres('in PostgreSQL', cluster => questionsContract(postgresStore(cluster)))

function questionsContract(openStore: OpenTestStore): void {
  const setUp = async () => {
    const store = await openStore()
    onTestFinished(() => store.dispose())
    const records = store.open()
    const approvals = openApprovals(records, '/data')
    const flood = async (count: number, ...call: Parameters<typeof by>) => {
      for (let n = 0; n < count; n++) {
        await approvals.ask(unpriced(`${call.join(' ')} ${n}`), `${call.join(' ')} ${n}`, by(...call))
      }
    }
    const waiting = async () => (await approvals.list('pending')).map(({ facts }) => nameOf(facts)).reverse()
    return { store, records, approvals, flood, waiting }
  }
  const nameOf = (facts: ApprovalFacts) => (facts.kind === 'spend' ? facts.what : facts.kind)
  const ask = (approvals: Approvals, what: string, hash = what, call = by('chat')) =>
    approvals.ask(unpriced(what), hash, call)

  test('fifty requests without a price leave room for other requests, and for new ones of their own', async () => {
    const { approvals, flood, waiting } = await setUp()
    await ask(approvals, 'a chat')
    await approvals.ask(payee, 'payee', by('chat'))
    await flood(60, null)
    const last = Array.from({ length: 10 }, (_, n) => ` ${50 + n}`)
    expect(await waiting()).toEqual(['a chat', 'payee', ...last])
    const video = await ask(approvals, 'a video', 'a video', by('video'))
    expect(video.howToApprove).not.toContain('was replaced')
  })

  test('the caller is told that the oldest of the same kind was replaced, and the record keeps it', async () => {
    const { approvals, flood, records } = await setUp()
    const oldest = await ask(approvals, 'first')
    await flood(9, 'chat')
    const next = await ask(approvals, 'one more')
    expect(next.howToApprove).toMatch(
      /approve ask_.*10 requests of the same kind were already pending.*the oldest was replaced/,
    )
    const over = { state: 'expired', decidedBy: 'a newer request' }
    expect(await approvals.get(oldest.approvalId)).toMatchObject(over)
    const late = approvals.resolve(oldest.approvalId, { isApproved: true, by: 'dialogue' })
    await expect(late).rejects.toMatchObject({ rule: 'not-found' })
    const [refused] = await records.read(() => listRefusals(9))
    expect(refused).toMatchObject({ rule: 'expired', operation: 'chat', sentence: expect.stringContaining('newer') })
  })

  test('equal requests share one row, and another price replaces the earlier one', async () => {
    const { approvals, waiting } = await setUp()
    const one = await ask(approvals, 'a chat')
    expect((await ask(approvals, 'a chat')).approvalId).toBe(one.approvalId)
    const facts: ApprovalFacts = { kind: 'spend', what: 'dearer', amountMicroUsd: usd(3), because: 'It costs more.' }
    await approvals.ask(facts, 'a chat', by('chat'))
    expect(await waiting()).toEqual(['dearer'])
  })

  test('a full list makes room for a service from its own requests, and for another service not at all', async () => {
    const { approvals, flood, waiting } = await setUp()
    for (const operation of ['a', 'b', 'c', 'd', 'e']) await flood(10, operation)
    await ask(approvals, 'one more')
    expect(await waiting()).toHaveLength(50)
    expect((await waiting())[0]).toBe('a 1')
    const other = ask(approvals, 'x', 'x', by('chat', 'https://other.example'))
    await expect(other).rejects.toMatchObject({ rule: 'too-many-questions' })
  })

  test('a pending request is listed, however many have ended since', async () => {
    const { approvals, store, flood, waiting } = await setUp()
    await ask(approvals, 'a chat')
    await flood(1, null)
    const [at, ended] = [store.now() + 1, store.now() - 1]
    await store.tamper(`INSERT INTO approvals (id, kind, request_hash, facts, origin, state, created_at_ms, expires_at_ms)
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
      SELECT 'old' || n, 'spend', 'old', facts, origin, 'pending', ${at}, ${ended} FROM numbers, approvals
      WHERE request_hash = 'a chat'`)
    expect((await waiting())[0]).toBe('a chat')
  })

  test('undecided requests are dropped, the oldest first, and decisions of the user are kept', async () => {
    const { approvals, records, store, flood } = await setUp()
    const answered = await ask(approvals, 'a chat')
    await approvals.resolve(answered.approvalId, { isApproved: true, by: 'dialogue' })
    const pushedOut = await ask(approvals, 'pushed out')
    const at = store.now() - 1_000
    await store.tamper(`INSERT INTO approvals (id, kind, request_hash, facts, origin, state, created_at_ms, expires_at_ms, noted)
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)
      SELECT 'old' || n, 'spend', 'old', facts, origin, 'pending', ${at}, ${at} + n, 1 FROM numbers, approvals
      WHERE request_hash = 'a chat'`)
    await flood(10, 'chat')
    const rows = await records.read(() => all('SELECT id FROM approvals'))
    expect(rows).toHaveLength(keptUnanswered + 11)
    expect(await approvals.get('old500')).toMatchObject({ state: 'expired' })
    expect(await approvals.get('old1')).toBeNull()
    expect(await approvals.get(pushedOut.approvalId)).toMatchObject({ decidedBy: 'a newer request' })
    expect(await approvals.get(answered.approvalId)).toMatchObject({ state: 'approved' })
  })
}
