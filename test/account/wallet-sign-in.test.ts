/** Which wallet signatures begin a session at the customers' page, and which do not. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { minuteMs } from '#contract/time.ts'
import { openWalletAccount } from '#ledger/accounts/customers.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, type MessageFields, solanaWallet } from '../access/identity/signed-header.ts'
import { newSvmAccount } from '../payments/svm-chain.ts'
import { fromItself, type OpenedAccount, openAccount, serviceUrl } from './opened-account.ts'

let opened: OpenedAccount
beforeEach(async () => {
  opened = await openAccount()
})
afterEach(() => opened.close())

const host = new URL(serviceUrl).host
const sessionPath = '/account/api/wallet/session'
const challengePath = '/account/api/wallet/challenge'
const balancePath = (address: string) => `/api/v1/x402/balance/${address}`

const fields = (changes: Partial<MessageFields> = {}): MessageFields => ({
  ...{ domain: host, uri: `${serviceUrl}/account`, chain: '8453', nonce: 'abcdef0123456789' },
  issuedAt: new Date(opened.service.clock.now()).toISOString(),
  ...changes,
})

/** A wallet's header as the page's proof. */
function proofOf(header: string, kind = 'evm') {
  const { address, message, signature } = JSON.parse(Buffer.from(header, 'base64').toString())
  return { kind, address, message, signature }
}

async function signIn(changes: Partial<MessageFields> = {}, wallet = evmWallet()) {
  return opened.post(sessionPath, proofOf(await wallet.header(fields(changes))))
}

const happened = async (answer: Response) => [answer.status, ((await answer.json()) as { happened: string }).happened]

test('B1: the server’s challenge is signed and begins a session of that wallet', async () => {
  const wallet = evmWallet()
  const challenge = await opened.post(challengePath, { kind: 'evm', address: wallet.address.toLowerCase() })
  const { message } = (await challenge.json()) as { message: string }
  // EIP-55: wallets recognize a sign-in message only by an address with its checksum.
  expect(message.split('\n')[1]).toBe(wallet.address)
  const signature = await wallet.sign(message)
  const began = await opened.post(sessionPath, { kind: 'evm', address: wallet.address, message, signature })
  expect(began.status).toBe(200)
  const session = {
    cookie: (began.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
    key: ((await began.json()) as { key: string }).key,
  }
  const me = await opened.get('/account/api/me', session)
  const who = wallet.address.toLowerCase()
  expect(await me.json()).toMatchObject({ kind: 'wallet', who, account: `wallet:${who}`, seesAccount: true })
})

test('B1: a challenge writes nothing, and its nonce is new each time', async () => {
  const { address } = evmWallet()
  const ask = async () => (await opened.post(challengePath, { kind: 'evm', address })).json()
  const messages = await Promise.all([ask(), ask(), ask()])
  expect(new Set(messages.map(each => JSON.stringify(each))).size).toBe(3)
  expect(await opened.store.read.selectFrom('nonce').select('id').execute()).toEqual([])
})

test.each([
  [{ kind: 'evm', address: '0x12' }],
  [{ kind: 'evm', address: `0x${'1'.repeat(40)}\nURI: x` }],
  [{ kind: 'solana', address: '1'.repeat(32) }],
  [{ kind: '__proto__', address: 'x' }],
  [{ kind: 'evm', address: ['0x'] }],
  [{}],
])('B1: no challenge for %j', async order => {
  expect((await opened.post(challengePath, order)).status).toBe(400)
})

test('C14: wallets without an account, which cost nothing to create, sign in twenty times a minute', async () => {
  const paid = evmWallet()
  const opening = openWalletAccount(paid.address.toLowerCase(), opened.service.clock.now())
  await opened.store.commit([{ id: `${uuidV7(opened.service.clock.now())}/wallet`, ops: opening }])
  for (let each = 0; each < 20; each++) expect((await signIn()).status).toBe(200)
  const marks = () => opened.store.read.selectFrom('nonce').select('id').where('id', 'like', 'account-%').execute()
  const before = (await marks()).length
  const refused = await signIn()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
  expect((await marks()).length).toBe(before)
  // A wallet that has paid still signs in.
  expect((await signIn({}, paid)).status).toBe(200)
  opened.service.clock.pass(minuteMs)
  expect((await signIn()).status).toBe(200)
})

describe('B2: a signed message works once', () => {
  test('at the page, however many send it at once', async () => {
    const proof = proofOf(await evmWallet().header(fields()))
    const answers = await Promise.all(Array.from({ length: 5 }, () => opened.post(sessionPath, proof)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
    expect(await happened(await opened.post(sessionPath, proof))).toEqual([401, expect.stringMatching(/used before/)])
  })

  test('at the page or at the API, not at both', async () => {
    const wallet = evmWallet()
    const header = await wallet.header(fields())
    const atApi = await opened.ask(balancePath(wallet.address), { headers: { 'sign-in-with-x': header } })
    expect(atApi.status).toBe(200)
    expect((await opened.post(sessionPath, proofOf(header))).status).toBe(401)
  })

  test('also where the API accepts a header until it expires', async () => {
    await opened.close()
    opened = await openAccount({ settings: { signInWindow: true } })
    const proof = proofOf(await evmWallet().header(fields()))
    expect((await opened.post(sessionPath, proof)).status).toBe(200)
    expect((await opened.post(sessionPath, proof)).status).toBe(401)
  })
})

test.each<[what: string, changes: Partial<MessageFields>, words: RegExp]>([
  ['a header that an agent signed for the API', { uri: serviceUrl }, /for another site/],
  ['a message for another page here', { uri: `${serviceUrl}/account/../docs` }, /for another site/],
  ['a message for another site', { domain: 'evil.example' }, /for another site/],
  ['a URI of another site', { uri: 'https://evil.example/account' }, /for another site/],
  ['another port of this host', { domain: '127.0.0.1:8405' }, /for another site/],
  ['another chain', { chain: '1' }, /different chains/],
])('B4: %s begins no session', async (_what, changes, words) => {
  expect(await happened(await signIn(changes))).toEqual([401, expect.stringMatching(words)])
})

test('B4: a message that was signed six minutes ago, or for tomorrow, begins no session', async () => {
  const at = (ms: number) => ({ issuedAt: new Date(opened.service.clock.now() + ms).toISOString() })
  expect((await signIn(at(-7 * minuteMs))).status).toBe(401)
  expect((await signIn(at(24 * 60 * minuteMs))).status).toBe(401)
})

test('B3: a signature of another wallet, on either chain, begins no session', async () => {
  const [own, other] = [await evmWallet().header(fields()), await evmWallet().header(fields())]
  const solana = { uri: `${serviceUrl}/account`, chain: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }
  const [one, two] = [await solanaWallet().header(fields(solana)), await solanaWallet().header(fields(solana))]
  for (const [of, by, kind] of [
    [own, other, 'evm'],
    [one, two, 'solana'],
  ] as const) {
    const proof = { ...proofOf(of, kind), signature: proofOf(by, kind).signature }
    expect(await happened(await opened.post(sessionPath, proof))).toEqual([401, expect.stringMatching(/not from the/)])
  }
  expect((await opened.post(sessionPath, proofOf(one, 'solana'))).status).toBe(200)
})

test('B3: a caller that guesses signatures must wait', async () => {
  const proof = proofOf(await evmWallet().header(fields()))
  for (let guess = 0; guess < 20; guess++) {
    const signature = `0x${`${guess}`.padStart(2, '0').repeat(65)}`
    expect((await opened.post(sessionPath, { ...proof, signature })).status).toBe(401)
  }
  expect((await opened.post(sessionPath, proof)).status).toBe(429)
})

test('B4: another site can neither ask for a challenge nor begin a session', async () => {
  const proof = proofOf(await evmWallet().header(fields()))
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  expect((await opened.post(sessionPath, proof, foreign)).status).toBe(403)
  expect((await opened.post(challengePath, { kind: 'evm', address: proof.address }, foreign)).status).toBe(403)
})

describe('topping up', () => {
  const draft = { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', amount: '5000000' }

  test('B6: a customer learns of a wallet only whether it pays for the own account', async () => {
    const { key } = await opened.newKey()
    const session = await opened.signIn(key)
    const known = evmWallet()
    await signIn({}, known)
    for (const wallet of [known.address, evmWallet().address])
      expect(await (await opened.act('wallet/payer', { wallet }, session)).json()).toEqual({ isThisAccount: false })
  })

  test('B6: without a session nothing is prepared', async () => {
    for (const name of ['top-up', 'payer', 'draft'])
      expect((await opened.post(`/account/api/wallet/${name}`, draft, fromItself)).status).toBe(401)
  })

  test.each([
    ['too little', { amount: '4999999' }, 400],
    ['too much', { amount: '10000000001' }, 400],
    ['no number', { amount: '0x4c4b40' }, 400],
    ['no address', { payer: 'nobody' }, 400],
    ['a network on which wallets compose payments', { network: 'eip155:8453' }, 404],
  ])('a draft for %s is refused', async (_what, changes, status) => {
    const session = await opened.signIn((await opened.newKey()).key)
    const order = { ...draft, payer: (await newSvmAccount()).address, ...changes }
    expect((await opened.act('wallet/draft', order, session)).status).toBe(status)
  })

  test('a node that does not answer is a 503 that says that nothing was signed', async () => {
    await opened.close()
    const payments = {
      topUp: () => Promise.reject(new Error('unused')),
      draft: () => Promise.reject(new Error('the node at http://secret.example')),
    }
    opened = await openAccount({ payments })
    const session = await opened.signIn((await opened.newKey()).key)
    const answer = await opened.act('wallet/draft', { ...draft, payer: (await newSvmAccount()).address }, session)
    const text = await answer.text()
    expect([answer.status, text]).toEqual([503, expect.stringMatching(/Nothing was signed/)])
    expect(text + JSON.stringify(opened.service.logged)).not.toContain('secret.example')
  })
})
