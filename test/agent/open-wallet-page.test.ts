import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openScriptPage } from '#agent/loopback/script-page.ts'
import { hourMs, minuteMs } from '#contract/time.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import type { WalletState } from '#pages/wallet/wire.ts'
import { settingsFileName } from '#wallet/rules/settings-file.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { runCommand } from '../cli/run-command.ts'
import { openAgent } from './open-agent.ts'
import { openedWalletPage, visit } from './opened-wallet-page.ts'
import { payTo, pretendService } from './pretend-service.ts'

let agent: Awaited<ReturnType<typeof openAgent>>
let baseUrl: string
let opened: Awaited<ReturnType<typeof openedWalletPage>>
beforeEach(async () => {
  const service = await pretendService()
  baseUrl = service.baseUrl
  agent = await openAgent({ baseUrl })
  opened = await openedWalletPage(agent.dataFolder, baseUrl)
  onTestFinished(service.close)
  onTestFinished(agent.close)
  onTestFinished(opened.close)
})

const consent: ApprovalFacts = {
  kind: 'consent',
  provider: 'demo',
  policyText: 'You agree.\n</pre><script>alert(1)</script>\u202e',
  policyVersion: 'v1',
  docsUrl: 'https://example.com/docs',
  faceMediaRoles: ['image'],
}
const spend: ApprovalFacts = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' }
const allStated = ['termsAndPrivacy', 'legalRight', 'screeningAcknowledged']

const call = () => ({ origin: new URL(baseUrl).origin, operation: null, address: null })
const ask = async (facts: ApprovalFacts, hash = 'hash') => (await agent.approvals.ask(facts, hash, call())).approvalId
const stateOf = async (id: string) => (await agent.approvals.get(id))?.state
const visited = () => visit(opened.page.link())
const walletOf = async ({ ask }: Awaited<ReturnType<typeof visit>>) =>
  (await ask('GET /api/wallet')).json as WalletState

describe('the page shows', () => {
  test('a policy whole, with three statements', async () => {
    await ask(consent)
    const [shown] = (await walletOf(await visited())).approvals
    expect(shown?.policyText).toBe('You agree.\n</pre><script>alert(1)</script>⟨U+202E⟩')
    expect(shown?.statements.map(({ name }) => name)).toEqual(allStated)
  })

  test('what would be bought, and whom to pay', async () => {
    await ask(spend)
    const payee = { kind: 'payee', origin: 'https://s.example', network: 'eip155:8453', asset: '0xa', payTo }
    await ask({ ...payee, amountMicroUsd: 5_000_000n } as ApprovalFacts)
    const { approvals } = await walletOf(await visited())
    expect(approvals.map(({ question }) => question)).toEqual([
      'Pay 5.00 USD to a new address?',
      'Buy this, at an unknown price?',
    ])
    expect(approvals[0]?.details).toContainEqual({ name: 'Paid to', value: payTo })
  })

  test('caps and what is left of them, to the micro-USD of the journal', async () => {
    await agent.chat()
    const { caps, left } = await walletOf(await visited())
    const { spentDayMicroUsd, leftMicroUsd } = await opened.ownerWallet.status([agent.wallet?.address ?? ''])
    expect([`${spentDayMicroUsd}`, `${leftMicroUsd}`]).toEqual(['5000000', left])
    expect(caps.find(({ name }) => name === 'askAboveUsd')?.limits).toMatch(/approval; .* 5\.00 USD without asking/)
    expect(caps.find(({ name }) => name === 'maxDayUsd')).toMatchObject({
      ...{ amount: '10000000', used: '5000000', left: '5000000', setBy: null },
    })
  })

  test('the image that a call sends, as long as it is the one that was asked about', async () => {
    const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(24)])
    const output = join(agent.dataFolder, 'output')
    await mkdir(output, { recursive: true })
    await writeFile(join(output, 'face.png'), png)
    const sha256 = createHash('sha256').update(png).digest('hex')
    const files = [{ name: 'face.png', bytes: png.byteLength, sha256 }]
    const about = { tool: 'video_create', model: 'm', prompt: 'A wave', files, moreFiles: 0, mostMicroUsd: null }
    const { approvalId } = await agent.approvals.ask(spend, 'hash', { ...call(), about })
    const { ask: get } = await visited()
    const path = `GET /api/image?approval=${approvalId}&file=0`
    const shown = await get(path)
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'")
    await writeFile(join(output, 'face.png'), Buffer.concat([png, Buffer.from('another')]))
    expect((await get(path)).status).toBe(409)
    expect((await get('GET /api/image?approval=ask_0&file=0')).status).toBe(409)
  })
})

describe('an answer', () => {
  test('that approves a consent needs every statement', async () => {
    const id = await ask(consent)
    const { ask: post } = await visited()
    const two = await post('POST /api/approvals', { id, isApproved: true, statements: allStated.slice(0, 2) })
    expect([two.status, two.json.happened, await stateOf(id)]).toEqual([
      409,
      expect.stringContaining('all three'),
      'pending',
    ])
    await post('POST /api/approvals', { id, isApproved: true, statements: allStated })
    expect(await agent.approvals.get(id)).toMatchObject({ state: 'approved', decidedBy: 'page, ada' })
  })

  test('that denies is a denial, and an invalid answer decides nothing', async () => {
    const [no, none] = [await ask(consent, 'one'), await ask(spend, 'other')]
    const { ask: post } = await visited()
    await post('POST /api/approvals', { id: no, isApproved: false, statements: allStated })
    expect((await post('POST /api/approvals', { id: none })).status).toBe(409)
    expect([await stateOf(no), await stateOf(none)]).toEqual(['denied', 'pending'])
  })

  test('to a question that was answered elsewhere meanwhile changes nothing', async () => {
    const id = await ask(spend)
    const { ask: post } = await visited()
    await agent.approvals.resolve(id, { isApproved: false, by: 'terminal, ada' })
    const late = await post('POST /api/approvals', { id, isApproved: true, statements: [] })
    expect([late.status, late.json.happened]).toEqual([409, 'This request is already denied.'])
    expect(await stateOf(id)).toBe('denied')
  })
})

describe('a cap', () => {
  test('is lowered, and holds for the next call of a server that runs', async () => {
    const { ask: post } = await visited()
    const lowered = await post('POST /api/caps', { name: 'maxDayUsd', usd: '4' })
    expect(lowered.status).toBe(200)
    const again = await openAgent({ baseUrl, dataFolder: agent.dataFolder })
    expect(again.wallet?.policy.maxDayMicroUsd).toBe(4_000_000n)
    await again.host.close()
  })

  test.each([
    ['above the one that holds', 'maxDayUsd', '10.000001', /only lower it.*FAREBOX_MAX_DAY_USD/],
    ['that is not an amount', 'maxDayUsd', '1e3', /not an amount/],
    ['that there is not', 'maxWeekUsd', '1', /There is no cap/],
  ])('%s is refused', async (_rule, name, usd, said) => {
    const { ask: post } = await visited()
    const { status, json } = await post('POST /api/caps', { name, usd })
    expect([status, `${json.happened} ${json.next}`]).toEqual([409, expect.stringMatching(said)])
    expect((await walletOf(await visited())).caps.map(({ setBy }) => setBy)).not.toContain(settingsFileName)
  })
})

describe('the stop switch', () => {
  test('stops at once, and starts again where no passphrase guards the wallet', async () => {
    const { ask: post } = await visited()
    await post('POST /api/stop', {})
    await expect(agent.chat()).rejects.toThrow(/stopped|switched off/)
    await post('POST /api/start', { passphrase: '' })
    await expect(agent.chat()).resolves.toBeDefined()
  })

  test('of an encrypted wallet is lifted by its passphrase alone', async () => {
    const folder = join(agent.dataFolder, 'encrypted')
    const guarded = await openedWalletPage(folder, baseUrl, {}, { FAREBOX_WALLET_KEY: '' })
    onTestFinished(guarded.close)
    await guarded.ownerWallet.create(canaryPassphrase, false)
    const { ask: post } = await visit(guarded.page.link())
    await post('POST /api/stop', {})
    expect((await post('POST /api/start', { passphrase: 'another one' })).status).toBe(409)
    expect(((await post('GET /api/wallet')).json as WalletState).stop).toMatchObject({
      isStopped: true,
      by: 'page, ada',
    })
    expect((await post('POST /api/start', { passphrase: canaryPassphrase })).status).toBe(200)
    expect(((await post('GET /api/wallet')).json as WalletState).stop.isStopped).toBe(false)
  }, 60_000)
})

describe('other visitors are refused', () => {
  const decide = async (headers: Record<string, string>, body?: unknown) => {
    const id = await ask(spend)
    const { ask: post } = await visited()
    const { status } = await post('POST /api/approvals', body ?? { id, isApproved: true, statements: [] }, headers)
    return { status, state: await stateOf(id) }
  }

  test('the link works once, and a wrong one leaves the right one as it is', async () => {
    const link = opened.page.link()
    const wrong = await visit(`${new URL(link).origin}/#${'A'.repeat(43)}`)
    expect(wrong.session.status).toBe(410)
    const first = await visit(link)
    expect([first.session.status, (await first.spend()).status]).toEqual([200, 410])
    expect((await first.ask('GET /api/wallet')).status).toBe(200)
  })

  test('the token is in no request line, and the browser that spends a newer link has the page alone', async () => {
    expect(opened.page.link()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/)
    const [first, second] = [await visited(), await visited()]
    expect([(await first.ask('GET /api/wallet')).status, (await second.ask('GET /api/wallet')).status]).toEqual([
      401, 200,
    ])
  })

  test.each<{ who: string; status: number; headers: Record<string, string> }>([
    { who: 'a browser without the session', status: 401, headers: { cookie: '' } },
    { who: 'a session that is guessed', status: 401, headers: { cookie: 'farebox_wallet=guessed' } },
    {
      who: 'a server that is sent the cookie',
      status: 401,
      headers: { [pageKeyHeader]: '' },
    },
    { who: 'another page', status: 403, headers: { origin: 'https://a.example' } },
    { who: 'a page of no origin', status: 403, headers: { origin: 'null' } },
    { who: 'another name for this machine', status: 403, headers: { origin: 'http://localhost' } },
    { who: 'a form of another site', status: 403, headers: { 'sec-fetch-site': 'cross-site' } },
    { who: 'another port of this host', status: 403, headers: { 'sec-fetch-site': 'same-site' } },
    { who: 'a plain form', status: 400, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  ])('$who decides nothing', async ({ status, headers }) => {
    expect(await decide(headers)).toEqual({ status, state: 'pending' })
  })

  test('a body that is not short JSON decides nothing', async () => {
    expect(await decide({}, '{"id":')).toEqual({ status: 400, state: 'pending' })
    expect(await decide({}, { more: 'x'.repeat(9_000) })).toEqual({ status: 413, state: 'pending' })
  })

  test('a foreign host name that resolves to this machine is refused', async () => {
    const { port } = new URL(opened.page.link())
    const status = await new Promise(resolve =>
      request({ host: '127.0.0.1', port, path: '/', headers: { host: `a.example:${port}` } }, answer => {
        answer.resume()
        resolve(answer.statusCode)
      }).end(),
    )
    expect(status).toBe(403)
  })

  test('the page cannot be framed or cached, and never treats text as markup', async () => {
    const { origin } = await visited()
    const { headers } = await fetch(origin)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-frame-options')).toBe('DENY')
    const policy = headers.get('content-security-policy')
    for (const part of [`default-src 'none'`, `frame-ancestors 'none'`, `require-trusted-types-for 'script'`])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/unsafe|data:/)
  })

  test('the cookie is kept from scripts and from other sites', async () => {
    const { session } = await visited()
    expect(session.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Path=\/api\/$/)
  })
})

describe('a session ends', () => {
  const started = async () => {
    let nowMs = 1_000_000
    const routes = { 'GET /api/now': () => ({ nowMs }) }
    const page = await openScriptPage({ files: {}, routes, over: 'Ask again.' }, { now: () => nowMs })
    onTestFinished(page.close)
    return { page, later: (ms: number) => (nowMs += ms) }
  }

  test('after half an hour without a request', async () => {
    const { page, later } = await started()
    const { ask: get } = await visit(page.link())
    later(29 * minuteMs)
    expect((await get('GET /api/now')).status).toBe(200)
    later(31 * minuteMs)
    expect((await get('GET /api/now')).json).toEqual({ happened: expect.any(String), next: 'Ask again.' })
  })

  test('after eight hours, however busy it was', async () => {
    const { page, later } = await started()
    const { ask: get } = await visit(page.link())
    for (let past = 0; past < 8 * hourMs; past += 20 * minuteMs) {
      expect((await get('GET /api/now')).status).toBe(200)
      later(20 * minuteMs)
    }
    later(1)
    expect((await get('GET /api/now')).status).toBe(401)
  })

  test('before it began, where its link is older than five minutes', async () => {
    const { page, later } = await started()
    const link = page.link()
    later(5 * minuteMs + 1)
    expect((await visit(link)).session.status).toBe(410)
  })
})

test('a program without a terminal opens no page', async () => {
  const end = await runCommand(['wallet', 'open', '--data', agent.dataFolder])
  expect(end).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('needs a terminal') })
})
