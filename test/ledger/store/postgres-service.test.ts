/** Two services on one database, as two processes would be. */
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { recoverHolds, recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { type OpenService, openService } from '#service/running/open-service.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { account, grant, hold, lease, mustCommit } from './sample-ops.ts'

const timeout = 120_000

/** Each has its own folder, and finished media where the others have theirs. */
async function openOn(database: string, mediaFolder: string): Promise<OpenService> {
  const folder = temporaryFolder('service')
  const video = new DemoVideo({ workFolder: folder })
  const service = await openService({
    publicUrl: 'http://127.0.0.1',
    folder,
    media: { folder: mediaFolder },
    database,
    secrets: ['a secret that both services have, as long as needed'],
    models: demoModels({ chat: new DemoChat(), video }),
  })
  onTestFinished(async () => {
    await service.close()
    await video.close()
  })
  return service
}

const chat = (service: OpenService, key: string) =>
  service.fetch(
    new Request('http://127.0.0.1/api/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 }),
    }),
  )

withPostgres('services on one database', cluster => {
  test('a key made by one pays for calls of both, out of one balance', { timeout }, async () => {
    const shared = temporaryFolder('media')
    const [one, other] = await Promise.all([openOn(cluster().url, shared), openOn(cluster().url, shared)])
    const { key } = await one.createKey({ usd: '1' })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, call) => chat(call % 2 ? one : other, key)))
    expect(answers.map(answer => answer.status)).toEqual(answers.map(() => 200))
    await Promise.all(answers.map(answer => answer.text()))
    const reader = await postgresAuditReader(cluster().url)
    const report = await audit(reader)
    await reader.close()
    expect(report).toMatchObject({ ok: true, driftMicroUsd: 0n, counts: { accounts: 1, openHolds: 0 } })
    expect(report.counts.charges).toBeGreaterThanOrEqual(20)
  })

  test('10,000 holds of a service that died are freed by one look of the next one, live ones are not', {
    timeout,
  }, async () => {
    const store = await openPostgresStore({ url: cluster().url, schema: cluster().newSchema() })
    const nowMs = systemClock.now()
    await mustCommit(store, account(), grant(10n ** 9n))
    const dead = lease(nowMs - 1, 'dead')
    const units = Array.from({ length: 10_000 }, () => ({
      id: uuidV7(nowMs),
      ops: [hold(uuidV7(nowMs), 3n, 'ada', dead)],
    }))
    expect((await store.commit(units)).every(outcome => outcome.ok)).toBe(true)
    await mustCommit(store, hold('live', 5n, 'ada', lease(nowMs + 3_600_000, 'sibling')))
    expect(await recoverHoldsAtStart(store, systemClock, 'new')).toBe(0)
    expect(await recoverHolds(store, systemClock)).toBe(10_000)
    const balance = await store.read.selectFrom('account').select(['posted', 'held']).executeTakeFirst()
    expect(balance).toEqual({ posted: 10n ** 9n, held: 5n })
    await store.close()
  })
})
