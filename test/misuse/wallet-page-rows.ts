import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import { openAgent } from '../agent/open-agent.ts'
import { openedWalletPage, visit } from '../agent/opened-wallet-page.ts'
import { payTo, pretendService } from '../agent/pretend-service.ts'
import { canaryPassphrase as passphrase } from '../canary/canaries.ts'
import { type Answered, answered, byUser, misusedPage, type PageMistake } from './page-mistake.ts'

const someone = '0x52908400098527886E0F7030069857D2E4169EE7'
const form = { to: someone, usd: '1.000000', facilitator: '', ending: someone.slice(-6), passphrase }

/** A wallet with three requests, and the browser that spent the link to its page. */
type Opened = Awaited<ReturnType<typeof open>>

async function open() {
  const service = await pretendService()
  const agent = await openAgent({ baseUrl: service.baseUrl, walletKey: undefined })
  const wallet = await openedWalletPage(agent.dataFolder, service.baseUrl, {}, { FAREBOX_WALLET_KEY: '' })
  const { ownerWallet } = wallet
  const { address } = await ownerWallet.create(passphrase, false)
  const payee = { origin: new URL(service.baseUrl).origin, network: 'eip155:8453', asset: '0xa', payTo }
  await ownerWallet.pin(payee, 'ada')
  const page = await visit(wallet.page.link())
  const spend = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' } as const
  const consent = {
    kind: 'consent',
    ...{ provider: 'demo', policyText: 'You agree.', policyVersion: 'v1' },
    ...{ docsUrl: 'https://example.com/docs', faceMediaRoles: ['image'] },
  } as const
  const ask = async (facts: typeof spend | typeof consent, hash: string) =>
    (await ownerWallet.approvals.ask(facts, hash, { origin: payee.origin, operation: null, address: null })).approvalId
  const ids = { spend: await ask(spend, 'one'), consent: await ask(consent, 'two'), denied: await ask(spend, 'three') }
  await ownerWallet.approvals.resolve(ids.denied, { isApproved: false, by: 'ada' })
  return {
    ...{ page, wallet, ids },
    names: [
      ...([
        [address, 'WALLET'],
        [ownerWallet.folder, 'DIR'],
        [new URL(page.origin).host, '127.0.0.1:PORT'],
        [new URL(service.baseUrl).host, '127.0.0.1:PORT'],
      ] as const),
      ...Object.entries(ids).map(([name, id]) => [id, `ask_${name}`] as const),
    ],
    async close() {
      await wallet.close()
      await agent.close()
      await service.close()
    },
  }
}

type Row = PageMistake<Opened>

/** A request of the page's own script. */
function asked(
  what: string,
  name: string,
  body: object | string | undefined | ((ids: Opened['ids']) => unknown),
  status = 409,
  headers: Record<string, string> = {},
): Row {
  const provoke = async ({ page, ids }: Opened): Promise<Answered> => {
    const { status, json } = await page.ask(name, typeof body === 'function' ? body(ids) : body, headers)
    return { status, said: [json.happened, json.next] }
  }
  return [what, provoke, status]
}

/** An address that its user opens, or a request of another program. */
const opened = (what: string, url: (origin: string) => string, status: number, init: RequestInit = {}): Row => [
  what,
  async ({ page }) => answered(await fetch(url(page.origin), { headers: byUser, ...init })),
  status,
]

const amounts = ['20', '10.01', '1e9', '-1', '', ' ', '$5', '5,00', '1,5', '0.0000001', '٣', 'all', '9'.repeat(4_000)]
const shown = (text: string): string => JSON.stringify(text.length > 50 ? `${text.slice(0, 10)}…` : text)

const mistakes: readonly Row[] = [
  asked('another site’s form', 'POST /api/stop', {}, 403, { origin: 'https://evil.example' }),
  asked('another browser', 'POST /api/stop', {}, 401, { [pageKeyHeader]: 'guessed' }),
  asked('a browser that blocks cookies', 'POST /api/stop', {}, 401, { cookie: '' }),
  asked('no JSON', 'POST /api/stop', 'stop=1', 400, { 'content-type': 'application/x-www-form-urlencoded' }),
  asked('half a JSON', 'POST /api/stop', '{"a":', 400),
  asked('a list', 'POST /api/stop', [], 400),
  asked('a form that is too long', 'POST /api/caps', { name: 'maxDayUsd', usd: '9'.repeat(9_000) }, 413),
  asked('an unknown path', 'POST /api/raise', {}, 404),
  asked('an unknown method', 'PUT /api/caps', {}, 404),
  opened('the page by another name', origin => origin.replace('127.0.0.1', 'localhost'), 403),
  opened('an unknown page', origin => `${origin}/receipts`, 404),
  opened('a form that is sent to the page', origin => origin, 405, { method: 'POST', body: 'a=b' }),
  asked('an unknown request', 'POST /api/approvals', { id: 'ask_0', isApproved: true, statements: [] }),
  asked('no decision', 'POST /api/approvals', ids => ({ id: ids.spend })),
  asked('a consent in part', 'POST /api/approvals', ids => ({
    ...{ id: ids.consent, isApproved: true, statements: ['legalRight'] },
  })),
  asked('a denied request', 'POST /api/approvals', ids => ({ id: ids.denied, isApproved: true, statements: [] })),
  ...amounts.map(usd => asked(`a daily cap of ${shown(usd)}`, 'POST /api/caps', { name: 'maxDayUsd', usd })),
  asked('an unknown cap', 'POST /api/caps', { name: '__proto__', usd: '1' }),
  asked('a cap without a name', 'POST /api/caps', { usd: '1' }),
  asked('a wrong passphrase', 'POST /api/start', { passphrase: 'not this one' }),
  asked('no passphrase', 'POST /api/start', {}),
  ...[
    '0x52908400098527886E0F7030069857D2E4169Ee7',
    '0x0000000000000000000000000000000000000000',
    '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo,
    'vitalik.eth',
    '',
  ].map(to => asked(`money to ${JSON.stringify(to)}`, 'POST /api/send/plan', { to, amount: '1' })),
  ...['0', '-5', '1,5', '1e9', 'half', '0.0000001', '٣', ''].map(amount =>
    asked(`money back: ${JSON.stringify(amount)}`, 'POST /api/send/plan', { to: someone, amount }),
  ),
  asked('money back without a node', 'POST /api/send/plan', { to: someone, amount: '1' }),
  asked('a facilitator without TLS', 'POST /api/send/plan', {
    ...{ to: someone, amount: '1', facilitator: 'http://f.example' },
  }),
  asked('a facilitator that is not an address', 'POST /api/send/plan', {
    ...{ to: someone, amount: '1', facilitator: 'payai' },
  }),
  asked('money without a compared address', 'POST /api/send', { ...form, ending: '' }),
  asked('money of an unseen amount', 'POST /api/send', { ...form, usd: 'all' }),
  asked('a list in place of a text', 'POST /api/send', { ...form, passphrase: ['x'] }),
  asked('an image of another request', 'GET /api/image?approval=ask_0&file=0', undefined),
  ['a link that was used', async ({ page }) => answered(await page.spend()), 410],
  [
    'a link of another process',
    async ({ page: { origin } }) => {
      const headers = { origin, 'content-type': 'application/json' }
      const body = JSON.stringify({ token: 'a'.repeat(43) })
      return answered(await fetch(`${origin}/api/session`, { method: 'POST', headers, body }))
    },
    410,
  ],
  [
    'money back while a file stops the wallet',
    async ({ page, wallet }) => {
      const file = join(wallet.ownerWallet.folder, stopFileName)
      await writeFile(file, '')
      const { status, json } = await page.ask('POST /api/send/plan', { to: someone, amount: '1' })
      await rm(file)
      return { status, said: [json.happened, json.next] }
    },
    409,
  ],
]

export const walletPage = misusedPage('the wallet’s page', open, mistakes)
