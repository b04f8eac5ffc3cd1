/** The files for Prometheus and Grafana: both programs accept them, and the service has every series that they name. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../postgres/cluster.ts'
import { type OpenedService, openService } from '../service/open-service.ts'

const examples = join(import.meta.dirname, '../../examples/monitoring')
const run = promisify(execFile)
const token = 'the token of the metrics'

let folder: string
let service: OpenedService
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-monitoring-'))
  await cp(examples, folder, { recursive: true })
  await writeFile(join(folder, 'metrics-token'), token)
  service = await openService({ metricsToken: token, metricsCustomers: 5 })
  const key = await service.key(1)
  const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }
  for (let times = 0; times < 3; times++) await (await service.post('/chat/completions', hello, key)).text()
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const metrics = async () =>
  (await service.request('/metrics', { headers: { authorization: `Bearer ${token}` } })).text()

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[]
}

/** As Grafana sends them. */
async function queries(): Promise<string[]> {
  const { panels } = JSON.parse(await readFile(join(examples, 'grafana.json'), 'utf8')) as Dashboard
  const values: Record<string, string> = { __rate_interval: '1m', __range: '1h', model: '.*' }
  return panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? `no ${name}`)),
  )
}

test('alerts and dashboard name only series that the service has, and no money of it is left out', async () => {
  const text = await metrics()
  const known = [...text.matchAll(/^# TYPE (farebox_\w+) /gm)].map(([, name = '']) => name)
  const used = [...(await queries()), await readFile(join(examples, 'alerts.yml'), 'utf8')]
    .flatMap(each => each.match(/farebox_\w+/g) ?? [])
    .map(name => name.replace(/_bucket$/, ''))
  expect(used.filter(name => !known.includes(name))).toEqual([])
  const ofMoney = known.filter(name => name.endsWith('micro_usd_total') && name !== 'farebox_granted_micro_usd_total')
  expect(ofMoney.filter(name => !used.includes(name))).toEqual([])
})

describe('Prometheus', { tags: ['prometheus'] }, () => {
  test.each([
    ['check', 'rules', 'alerts.yml'],
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ])('takes its files: promtool %s %s %s', async (...told) => {
    const { stdout } = await run('promtool', told, { cwd: folder })
    expect(stdout).toContain('SUCCESS')
  })

  test('finds nothing to say against the names and types of our series', async () => {
    const checking = run('promtool', ['check', 'metrics'])
    checking.child.stdin?.end((await metrics()).replaceAll(/^(# \w+ )?(?!farebox_|# \w+ farebox_).*\n/gm, ''))
    const { stdout, stderr } = await checking
    expect(`${stdout}${stderr}`).toBe('')
  })

  test('reads the service with the token, and answers every query of the dashboard', { timeout: 60_000 }, async () => {
    const at = await serveMetrics()
    const ask = await prometheusOf(at)
    const charged = async () => (await ask('sum(farebox_charged_micro_usd_total)')).at(0)?.value[1]
    const isThere = () => charged().catch(() => undefined)
    await vi.waitUntil(isThere, { timeout: 20_000, interval: 250 })
    const entries = await service.store.read.selectFrom('entry').select('amount').where('kind', '=', 'CHARGE').execute()
    expect(await charged()).toBe(`${entries.reduce((sum, { amount }) => sum + amount, 0n)}`)
    for (const query of await queries()) await ask(query)
  })
})

/** `metrics.listen` of a service, at a free port. */
async function serveMetrics(): Promise<string> {
  const server = createServer(async (request, response) => {
    const authorization = request.headers.authorization ?? ''
    const answer = await service.request('/metrics', { headers: { authorization } })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(await answer.text())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Answer {
  status: string
  error?: string
  data: { result: { value: [number, string] }[] }
}

/** A Prometheus with our files that reads this address each second; asks it, and throws what it says against a query. */
async function prometheusOf(target: string) {
  const text = await readFile(join(folder, 'prometheus.yml'), 'utf8')
  await writeFile(join(folder, 'here.yml'), text.replace('127.0.0.1:9402', target).replaceAll('15s', '1s'))
  const at = `127.0.0.1:${await freePort()}`
  const flags = [`--config.file=here.yml`, `--web.listen-address=${at}`, `--storage.tsdb.path=${join(folder, 'data')}`]
  const child = spawn('prometheus', flags, { cwd: folder, stdio: 'ignore' })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return async (query: string): Promise<Answer['data']['result']> => {
    const url = `http://${at}/api/v1/query?${new URLSearchParams({ query })}`
    const { status, error, data } = (await (await fetch(url)).json()) as Answer
    if (status !== 'success') throw new Error(`${query}: ${error}`)
    return data.result
  }
}
