/**
 * Every error that ten minutes of misuse can cause on the two local pages: the one that shows the wallet, and the one that
 * makes it. Each says what is wrong, what is allowed and what to do; `page-errors.snap` has them whole.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import { openAgent, temporaryFolder } from '../agent/open-agent.ts'
import { openedWalletPage, visit } from '../agent/opened-wallet-page.ts'
import { payTo, pretendService } from '../agent/pretend-service.ts'
import { canaryPassphrase as passphrase } from '../canary/canaries.ts'

const someone = '0x52908400098527886E0F7030069857D2E4169EE7'
const form = { to: someone, usd: '1.000000', facilitator: '', ending: someone.slice(-6), passphrase }

let service: Awaited<ReturnType<typeof pretendService>>
let agent: Awaited<ReturnType<typeof openAgent>>
let opened: Awaited<ReturnType<typeof openedWalletPage>>
let page: Awaited<ReturnType<typeof visit>>
let ids: { spend: string; consent: string; denied: string }
const lines: string[] = []

beforeAll(async () => {
  service = await pretendService()
  agent = await openAgent({ baseUrl: service.baseUrl, walletKey: undefined })
  opened = await openedWalletPage(agent.stateFolder, service.baseUrl, {}, { FAREBOX_WALLET_KEY: '' })
  const { address } = await opened.ownerWallet.create(passphrase, false)
  const payee = { origin: new URL(service.baseUrl).origin, network: 'eip155:8453', asset: '0xa', payTo }
  await opened.ownerWallet.pin(payee, 'ada')
  page = await visit(opened.page.link())
  const spend = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' } as const
  const consent = {
    kind: 'consent',
    ...{ provider: 'demo', policyText: 'You agree.', policyVersion: 'v1' },
    ...{ docsUrl: 'https://example.com/docs', faceMediaRoles: ['image'] },
  } as const
  const ask = async (facts: typeof spend | typeof consent, hash: string) =>
    (await opened.ownerWallet.approvals.ask(facts, hash)).approvalId
  ids = { spend: await ask(spend, 'one'), consent: await ask(consent, 'two'), denied: await ask(spend, 'three') }
  await opened.ownerWallet.approvals.resolve(ids.denied, { isApproved: false, by: 'ada' })
  names.push([address, 'WALLET'], [opened.ownerWallet.folder, 'DIR'], [new URL(service.baseUrl).host, '127.0.0.1:PORT'])
  for (const [name, id] of Object.entries(ids)) names.push([id, `ask_${name}`])
}, 60_000)
afterAll(async () => {
  await opened?.close()
  await agent?.close()
  await service?.close()
})

/** What is another one each time, and its name in the golden file. */
const names: [value: string, name: string][] = []
const lasting = (text: string): string =>
  names.reduce((said, [value, name]) => said.replaceAll(value, name), text).replaceAll(/ask_[0-9a-z]{16}/g, 'ask_OTHER')

type Row = [what: string, path: string, body: () => unknown, headers?: Record<string, string>]

const rows: readonly Row[] = [
  ['another site’s form', 'POST /api/stop', () => ({}), { origin: 'https://evil.example' }],
  ['another browser', 'POST /api/stop', () => ({}), { [pageKeyHeader]: 'guessed' }],
  ['no JSON', 'POST /api/stop', () => 'stop=1', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['half a JSON', 'POST /api/stop', () => '{"a":'],
  ['an unknown path', 'POST /api/raise', () => ({})],
  ['an unknown request', 'POST /api/approvals', () => ({ id: 'ask_0', isApproved: true, statements: [] })],
  ['no decision', 'POST /api/approvals', () => ({ id: ids.spend })],
  [
    'a consent in part',
    'POST /api/approvals',
    () => ({ id: ids.consent, isApproved: true, statements: ['legalRight'] }),
  ],
  ['a denied request', 'POST /api/approvals', () => ({ id: ids.denied, isApproved: true, statements: [] })],
  ...['20', '10.01', '1e3', '-1', '', '$5', '5,00', '0.0000001', 'all'].map(
    (usd): Row => [`a daily cap of ${JSON.stringify(usd)}`, 'POST /api/caps', () => ({ name: 'maxDayUsd', usd })],
  ),
  ['an unknown cap', 'POST /api/caps', () => ({ name: '__proto__', usd: '1' })],
  ['a cap without a name', 'POST /api/caps', () => ({ usd: '1' })],
  ['a wrong passphrase', 'POST /api/start', () => ({ passphrase: 'not this one' })],
  ['no passphrase', 'POST /api/start', () => ({})],
  ...[
    '0x52908400098527886E0F7030069857D2E4169Ee7',
    '0x0000000000000000000000000000000000000000',
    '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo,
    'vitalik.eth',
    '',
  ].map((to): Row => [`money to ${JSON.stringify(to)}`, 'POST /api/send/plan', () => ({ to, amount: '1' })]),
  ...['0', '-5', 'half', '0.0000001'].map(
    (amount): Row => [`money back: ${JSON.stringify(amount)}`, 'POST /api/send/plan', () => ({ to: someone, amount })],
  ),
  ['money back without a node', 'POST /api/send/plan', () => ({ to: someone, amount: '1' })],
  [
    'a facilitator without TLS',
    'POST /api/send/plan',
    () => ({ to: someone, amount: '1', facilitator: 'http://f.example' }),
  ],
  [
    'a facilitator that is no address',
    'POST /api/send/plan',
    () => ({ to: someone, amount: '1', facilitator: 'payai' }),
  ],
  ['money that nobody compared', 'POST /api/send', () => ({ ...form, ending: '' })],
  ['money of an unseen amount', 'POST /api/send', () => ({ ...form, usd: 'all' })],
  ['a list in place of a text', 'POST /api/send', () => ({ ...form, passphrase: ['x'] })],
  ['an image of another request', 'GET /api/image?approval=ask_0&file=0', () => undefined],
]

function isSaid(what: string, status: number, happened: string, next: string): void {
  expect([what, status >= 400], happened).toEqual([what, true])
  for (const sentence of [happened, next]) expect(sentence).toMatch(/^[A-Z\d].*\.$/s)
  // A sentence, and never the inside of the program.
  expect(`${happened} ${next}`).not.toMatch(/undefined|\[object|NaN|\bat file:|Error:/)
  lines.push(`${what} (${status})\n${lasting(`${happened}\n${next}`)}\n`)
}

test.each(rows)('the wallet’s page: %s', async (what, path, body, headers = {}) => {
  const { status, json } = await page.ask(path, body(), headers)
  isSaid(what, status, json.happened, json.next)
})

test('the wallet’s page: a used link, and a wallet that a file stops', async () => {
  const again = await page.spend()
  const used = (await again.json()) as { happened: string; next: string }
  isSaid('a link that was used', again.status, used.happened, used.next)
  expect((await page.ask('GET /api/wallet')).status).toBe(200)
  const { writeFile, rm } = await import('node:fs/promises')
  const file = join(opened.ownerWallet.folder, stopFileName)
  await writeFile(file, '')
  const stopped = await page.ask('POST /api/send/plan', { to: someone, amount: '1' })
  isSaid('money back while a file stops the wallet', stopped.status, stopped.json.happened, stopped.json.next)
  await rm(file)
})

const whole = { place: 'passphrase', passphrase, again: passphrase, first: 'ask' }
const caps = { maxPaymentUsd: '5', maxDayUsd: '10', maxTotalUsd: '20', maxCallUsd: '10', askAboveUsd: '1' }
const wrong: readonly [what: string, fields: Record<string, string>][] = [
  ['passphrases that differ', { again: 'another passphrase' }],
  ['a short passphrase', { passphrase: 'short', again: 'short' }],
  ['no passphrase', { passphrase: '', again: '' }],
  ['no place for the keys', { place: '' }],
  ['no button', { first: '' }],
  ['a cap above the environment’s', { maxDayUsd: '11' }],
  ['a cap below zero', { maxCallUsd: '-1' }],
  ['a cap that is no amount', { maxTotalUsd: 'all' }],
  ['an empty cap', { askAboveUsd: '' }],
]

const plain = (html: string): string => html.replaceAll('&quot;', '"').replaceAll('&#39;', "'")

test('the page that makes a wallet', async () => {
  const { settings } = readSettings({ FAREBOX_DATA: temporaryFolder(), FAREBOX_BASE_URL: service.baseUrl })
  const host = await createHost(async () => settings, { file: null, read: async () => null })
  const link = (await ((await host.now?.()) ?? host).offerWallet?.())?.link ?? ''
  const first = await fetch(link, { redirect: 'manual' })
  const home = first.headers.get('location') ?? ''
  const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
  const token = /name="form" value="([^"]+)"/.exec(await (await fetch(home, { headers: { cookie } })).text())?.[1] ?? ''
  for (const [what, fields] of wrong) {
    const body = new URLSearchParams({ form: token, ...caps, ...whole, ...fields })
    const headers = { cookie, origin: new URL(home).origin }
    const text = await (await fetch(`${home}answer`, { method: 'POST', headers, body })).text()
    const notice = plain(/class="notice" role="status">([^<]*)</.exec(text)?.[1] ?? '')
    expect(notice, what).toMatch(/^[A-Z"].*\.$/)
    lines.push(`making a wallet: ${what}\n${notice}\n`)
  }
  const used = await fetch(link)
  lines.push(`making a wallet: a used link (${used.status})\n${/<p>([^<]*)<\/p>/.exec(await used.text())?.[1]}\n`)
  await host.close()
}, 60_000)

test('they are these sentences', async () => {
  await expect(lines.join('\n')).toMatchFileSnapshot('page-errors.snap')
})
