import { join } from 'node:path'
import type { KyselyPlugin } from 'kysely'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { NotAnswered } from '#operator/queries/operator-context.ts'
import { OperatorQueries } from '#operator/queries/operator-queries.ts'
import { operatorReads } from '#operator/queries/wire.ts'
import { openTemporaryStore, temporaryFolder } from '../../ledger/store/sqlite-folder.ts'
import { adminToken } from '../../service/open-service.ts'
import { type OpenedConsole, openConsole } from '../console/opened-console.ts'

let opened: OpenedConsole | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

const inputs: Partial<Record<string, object>> = {
  usage: { by: ['customer', 'model', 'day'] },
  request: { request: 'any' },
}

test('no query reads the ledger on the thread that serves calls: neither the console’s nor a command’s', async () => {
  const read: string[] = []
  const noted: KyselyPlugin = {
    transformQuery({ node }) {
      read.push(JSON.stringify(node))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  opened = await openConsole({ storeBefore: real => ({ ...real, read: real.read.withPlugin(noted) }) })
  await opened.service.key(5)
  const owner = await opened.signIn()
  const { rows } = (await (await opened.act('/api/operator/customers', {}, owner)).json()) as {
    rows: { customer: string }[]
  }
  const customer = rows[0]?.customer ?? ''
  read.length = 0
  for (const name of Object.keys(operatorReads)) {
    const input = name === 'customer' ? { customer } : (inputs[name] ?? {})
    expect([name, (await opened.act(`/api/operator/${name}`, input, owner)).status]).toEqual([name, 200])
    const asked = await opened.service.request('/admin/v1/operator', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}` },
      body: JSON.stringify({ operation: name, input, actor: 'ada' }),
    })
    expect([name, asked.status]).toEqual([name, 200])
  }
  for (const name of ['entries', 'usage']) {
    const file = await opened.act(`/api/operator/${name}.csv`, { customer, ...inputs[name] }, owner)
    expect((await file.text()).split('\r\n').length).toBeGreaterThan(2)
  }
  // The session is three small reads by key; the job runner looks for jobs from time to time.
  expect(read.filter(node => !node.includes('"nonce"') && !node.includes('"lease_until_ms"'))).toEqual([])
}, 30_000)

test('queries beyond the queue get a Retry-After, and the others are answered', async () => {
  const { path, dispose } = await openTemporaryStore()
  onTestFinished(dispose)
  const queries = new OperatorQueries(`sqlite:${path}`, { clock: systemClock })
  onTestFinished(() => queries.close())
  const asked = await Promise.allSettled(Array.from({ length: 40 }, () => queries.ask('overview', {})))
  const refused = asked.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
  expect(refused).toHaveLength(7)
  for (const error of refused) expect(error).toBeInstanceOf(NotAnswered)
  opened = await openConsole()
  const owner = await opened.signIn()
  const { act } = opened
  const answers = await Promise.all(Array.from({ length: 120 }, () => act('/api/operator/overview', {}, owner)))
  const busy = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  expect(busy[0]?.headers.get('retry-after')).toBe('2')
  expect(await busy[0]?.json()).toEqual({
    happened: expect.stringContaining('Too many operators’ queries'),
    next: expect.stringContaining('again'),
  })
}, 30_000)

test('a ledger that cannot be read is an answer, and the next query is asked again', async () => {
  const { folder, remove } = temporaryFolder()
  onTestFinished(remove)
  const queries = new OperatorQueries(`sqlite:${join(folder, 'none.db')}`, { clock: systemClock })
  onTestFinished(() => queries.close())
  for (let time = 0; time < 2; time++)
    await expect(queries.ask('overview', {})).rejects.toMatchObject({ kind: 'unreachable' })
}, 30_000)
