/** The page on which the user makes a wallet, or opens one, while an assistant's server runs. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { encode } from 'uqr'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowserPage } from '#agent/loopback/one-browser.ts'
import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { codeFor, paymentUri, pngQr, svgQr } from '#agent/wallet-page/qr.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { canaryPassphrase as passphrase } from '../canary/canaries.ts'
import { fakeNode } from '../wallet/sample-solana.ts'
import { temporaryFolder } from './open-agent.ts'
import { payTo, pretendService } from './pretend-service.ts'

async function serverOn(folder: string, baseUrl: string, more: Record<string, string> = {}) {
  const { settings } = readSettings({ FAREBOX_DATA: folder, FAREBOX_BASE_URL: baseUrl, ...more })
  const given: string[] = []
  const testMoney = async (address: string) => void given.push(address)
  const host = await createHost(async () => settings, { file: null, read: async () => null }, testMoney)
  onTestFinished(() => host.close())
  const now = async () => (await host.now?.()) ?? host
  return {
    given,
    offer: async () => (await now()).offerWallet?.() ?? null,
    chat: async () =>
      (await now()).context({ signal: new AbortController().signal, report: () => {} }).call(createChatCompletion, {
        params: undefined,
        query: undefined,
        body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
      }),
    made: async (timeoutMs: number) => (await now()).walletMade?.(timeoutMs, new AbortController().signal),
    status: async () =>
      (await now()).context({ signal: new AbortController().signal, report: () => {} }).wallet.status(),
  }
}

async function service() {
  const server = await pretendService()
  onTestFinished(server.close)
  return server
}

/** A browser without a script: it keeps the cookie, follows the link and sends forms. */
async function browser(link: string) {
  const opened = await fetch(link, { redirect: 'manual' })
  const home = opened.headers.get('location') ?? ''
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
  const read = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(home, { headers: { cookie, ...headers } })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const page = opened.status === 303 ? await read() : null
  const token = /name="form" value="([^"]+)"/.exec(page?.text ?? '')?.[1] ?? ''
  return {
    status: opened.status,
    page,
    read,
    async press(fields: Record<string, string>, headers: Record<string, string> = {}) {
      const whole = {
        form: token,
        maxPaymentUsd: '5',
        maxDayUsd: '10',
        maxTotalUsd: '20',
        maxCallUsd: '10',
        askAboveUsd: '1',
        ...fields,
      }
      const origin = new URL(home).origin
      const answer = await fetch(`${home}answer`, {
        method: 'POST',
        body: new URLSearchParams(whole),
        headers: { cookie, origin, ...headers },
      })
      return { status: answer.status, text: await answer.text() }
    },
  }
}

const encrypted = { place: 'passphrase', passphrase, again: passphrase, first: 'ask' }

test('it shows the service, whom it pays and the caps, without a script and under a strict policy', async () => {
  const { baseUrl } = await service()
  const { offer } = await serverOn(temporaryFolder(), baseUrl, { FAREBOX_MAX_DAY_USD: '7' })
  const { page } = await browser((await offer())?.link ?? '')
  expect(page?.text).toContain(baseUrl)
  expect(page?.text).toContain(payTo)
  expect(page?.text).toMatch(/name="maxDayUsd" min="0" max="7.00" step="0.01" value="7.00"/)
  expect(page?.text).not.toMatch(/<script|<img|style=/)
  expect(page?.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'/,
  )
  expect(page?.headers.get('cache-control')).toBe('no-store')
})

test('a link opens it once; a newer one takes it over from the browser that had it', async () => {
  const { baseUrl } = await service()
  const { offer } = await serverOn(temporaryFolder(), baseUrl)
  const link = (await offer())?.link ?? ''
  expect((await offer())?.link).toBe(link)
  const first = await browser(link)
  expect(first.page?.status).toBe(200)
  expect((await browser(link)).status).toBe(410)
  const second = await browser((await offer())?.link ?? '')
  expect(second.page?.status).toBe(200)
  expect((await first.read()).status).toBe(403)
  expect((await first.press(encrypted)).status).toBe(403)
})

test.each([
  ['another site', { origin: 'https://evil.example' }],
  ['no cookie', { cookie: '' }],
  ['another cookie', { cookie: 'farebox_page=x' }],
])('a form that comes from %s makes nothing', async (_, headers) => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  const { offer } = await serverOn(folder, baseUrl)
  const { press } = await browser((await offer())?.link ?? '')
  expect((await press(encrypted, headers)).status).toBe(403)
  expect((await press({ ...encrypted, form: 'x' })).status).toBe(403)
  expect(existsSync(join(folder, 'wallet.json'))).toBe(false)
})

test.each([
  ['passphrases that differ', { again: 'another passphrase' }, 'The two passphrases differ'],
  ['a short passphrase', { passphrase: 'short', again: 'short' }, 'A passphrase must have'],
  ['a cap above that of the environment', { maxDayUsd: '11' }, 'the settings allow at most 10.00 USD'],
  ['a cap that is not an amount', { maxTotalUsd: 'all' }, 'is not an amount in USD'],
  ['a keychain that is not there', { place: 'keychain' }, 'Choose where the keys are kept'],
  ['no button', { first: '' }, 'Choose one of the two buttons'],
])('%s: it says so, and makes nothing', async (_, fields, sentence) => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  const { offer, status } = await serverOn(folder, baseUrl)
  const { press } = await browser((await offer())?.link ?? '')
  expect((await press({ ...encrypted, ...fields })).text).toContain(sentence)
  expect(readdirSync(folder).filter(name => name.endsWith('.json'))).toEqual([])
  expect((await status()).pays).toBe('nothing')
})

test('an encrypted wallet pays at once, for this service alone, with the caps that were lowered', async () => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  const { offer, status, made } = await serverOn(folder, baseUrl)
  const { press } = await browser((await offer())?.link ?? '')
  const { text } = await press({ ...encrypted, maxDayUsd: '3' })
  await made(60_000)
  const { pays, address, caps } = await status()
  expect([pays, caps?.perDay]).toEqual(['wallet', 3_000_000n])
  expect(text).toContain(address)
  expect(JSON.parse(readFileSync(join(folder, 'policy.json'), 'utf8'))).toEqual({ maxDayUsd: '3', askFirstTopUp: true })
  expect(JSON.parse(readFileSync(join(folder, 'service.json'), 'utf8'))).toMatchObject({ baseUrl })
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), 'latin1')).not.toContain(passphrase)
  expect(text).not.toContain(passphrase)
  expect(await offer()).toBeNull()
})

test('rules that the folder has already stay, and what the page adds only narrows them', async () => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'policy.json'), '{"maxDayUsd":"2","cooldownSeconds":90}', { mode: 0o600 })
  const { offer } = await serverOn(folder, baseUrl)
  const { page, press } = await browser((await offer())?.link ?? '')
  expect(page?.text).toContain('name="maxDayUsd" min="0" max="2.00"')
  expect((await press({ ...encrypted, maxDayUsd: '3' })).text).toContain('the settings allow at most 2.00 USD')
  await press({ ...encrypted, maxDayUsd: '1.5', maxCallUsd: '4' })
  expect(JSON.parse(readFileSync(join(folder, 'policy.json'), 'utf8'))).toEqual({
    maxDayUsd: '1.5',
    maxCallUsd: '4',
    cooldownSeconds: 90,
    askFirstTopUp: true,
  })
})

test('a locked wallet is opened on the page after a restart, by its own passphrase', async () => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  const before = await serverOn(folder, baseUrl)
  await (await browser((await before.offer())?.link ?? '')).press(encrypted)
  const { address } = await before.status()
  const { offer, status } = await serverOn(folder, baseUrl)
  expect((await status()).pays).toBe('nothing')
  const { page, press } = await browser((await offer())?.link ?? '')
  expect(page?.text).toContain(address)
  expect((await press({ passphrase: 'not the passphrase' })).text).toContain('The passphrase is wrong for the wallet')
  expect((await status()).pays).toBe('nothing')
  expect((await press({ passphrase })).text).toContain('Your wallet is unlocked')
  expect(await status()).toMatchObject({ pays: 'wallet', address })
})

test('money of this machine needs no passphrase, and the faucet gives some once', async () => {
  const { baseUrl } = await service()
  const { offer, status, given } = await serverOn(temporaryFolder(), baseUrl)
  const { press } = await browser((await offer())?.link ?? '')
  expect((await press({ place: 'local', first: 'allow' })).text).toContain('The wallet has test money')
  await press({ place: 'local', first: 'allow' })
  const { address, pays } = await status()
  expect([pays, given]).toEqual(['wallet', [address]])
})

test.each([
  ['local', 'local'],
  ['passphrase', 'passphrase'],
  ['local', 'passphrase'],
])('two processes that make one at the same moment end with one wallet: %s, %s', async (...places) => {
  const { baseUrl } = await service()
  const folder = temporaryFolder()
  const servers = await Promise.all([serverOn(folder, baseUrl), serverOn(folder, baseUrl)])
  const pages = await Promise.all(servers.map(async ({ offer }) => browser((await offer())?.link ?? '')))
  const shown = await Promise.all(
    pages.map(({ press }, at) => press({ ...encrypted, place: places[at] ?? '', maxDayUsd: `${at + 3}` })),
  )
  expect(shown.filter(({ text }) => text.includes('There is already a wallet'))).toHaveLength(1)
  expect(readdirSync(folder).filter(name => name.endsWith('wallet.json'))).toHaveLength(1)
  const statuses = await Promise.all(servers.map(({ status }) => status()))
  expect(new Set(statuses.map(({ address }) => address)).size).toBe(1)
  const { maxDayUsd } = JSON.parse(readFileSync(join(folder, 'policy.json'), 'utf8'))
  expect(shown[Number(maxDayUsd) - 3]?.text).toContain(statuses[0]?.address)
})

test('a link that was not used for a quarter of an hour opens nothing, and the next one does', async () => {
  let nowMs = 0
  const clock = { now: () => nowMs }
  const page = await openBrowserPage(
    { show: () => 'shown', take: async () => null, usedLink: 'used', newLink: 'new' },
    clock,
  )
  onTestFinished(() => page.close())
  const link = page.link()
  nowMs += 15 * 60_000 + 1
  expect((await fetch(link)).status).toBe(410)
  expect(await (await browser(page.link())).page?.text).toBe('shown')
})

test('a page that fails says so, and nothing of the reason', async () => {
  const show = () => Promise.reject(new Error('EACCES: /home/ada/secret'))
  const page = await openBrowserPage({ show, take: async () => null, usedLink: 'used', newLink: 'Ask again.' })
  onTestFinished(() => page.close())
  const opened = await fetch(page.link(), { redirect: 'manual' })
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
  const answer = await fetch(opened.headers.get('location') ?? '', { headers: { cookie } })
  const text = await answer.text()
  expect([answer.status, text.includes('Ask again.'), text.includes('ada')]).toEqual([500, true, false])
})

test('the page notices the deposit, and a call without money names the address', async () => {
  let held = 0n
  const word = () => `0x${held.toString(16).padStart(64, '0')}`
  const node = await fakeNode({ eth_chainId: () => '0x2105', eth_call: word })
  onTestFinished(() => node.close())
  const service = await pretendService({ credit: 0 })
  onTestFinished(service.close)
  const { offer, made, status, chat } = await serverOn(temporaryFolder(), service.baseUrl, {
    FAREBOX_EVM_RPC_URL: node.url,
  })
  const { press, read } = await browser((await offer())?.link ?? '')
  const { text } = await press({ place: 'local', first: 'allow' })
  expect(text).toMatch(/It holds 0\.00 USDC.*send it no real USDC.*farebox(\.mjs)? local fund \S+ --usd 25<\/code>/s)
  expect(text).toContain('http-equiv="refresh"')
  const { address } = await status()
  const failure = await chat().catch(error => error)
  expect(failure.facts).toMatchObject({ next: expect.stringContaining(`to ${address} on Base`) })
  // A telephone would send real money to it.
  expect([text.includes('<svg'), failure.facts.shows]).toEqual([false, undefined])
  held = 6_000_000n
  expect((await read()).text).toContain('It holds 6.00 USDC')
  await made(60_000)
})

test.each([
  ['an API key pays', { FAREBOX_API_KEY: 'sk-x' }],
  ['the service does not answer', { FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1' }],
])('no page is offered where %s', async (_, env) => {
  const { baseUrl } = await service()
  const { offer } = await serverOn(temporaryFolder(), baseUrl, env)
  expect(await offer()).toBeNull()
})

test('the code in the conversation is a PNG of the address that a telephone reads', () => {
  const address = '0x1111111111111111111111111111111111111111'
  const png = pngQr(address)
  const side = png.readUInt32BE(16)
  const length = png.readUInt32BE(33)
  const pixels = inflateSync(png.subarray(41, 41 + length))
  const isWhite = (x: number, y: number) =>
    ((pixels[y * (1 + Math.ceil(side / 8)) + 1 + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0
  const { data } = encode(paymentUri(address), { border: 2 })
  const scale = side / data.length
  expect(data.map((row, y) => row.map((_dark, x) => !isWhite(x * scale, y * scale)))).toEqual(data)
  expect(png.length).toBeLessThan(2_000)
  const data64 = png.toString('base64')
  expect(codeFor(address, 'https://x.example')).toEqual([{ type: 'image', mimeType: 'image/png', data: data64 }])
  expect(codeFor(address, 'http://127.0.0.1:8402')).toEqual([])
  expect(svgQr(address)).toMatch(/^<svg class="qr" role="img" aria-label="QR code"(?!.*(script|style|href))/s)
})
