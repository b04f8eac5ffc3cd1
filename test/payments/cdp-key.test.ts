/** Coinbase's facilitator: each request carries its own token, signed by the key in `farebox.yaml`. */
import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rails } from '#payments/rails/rails.ts'
import { ConfigRefused, faultLine } from '#service/config/config-values.ts'
import { paymentSettings } from '#service/config/payment-config.ts'
import { readConfig } from '#service/config/read-config.ts'
import { cdpFacilitatorUrl, cdpHeaders } from '#service/index.ts'
import { localServer } from '../local-server.ts'

const apiKeyId = '2d1e5ab8-0e3c-4c8f-b6a7-ef1f3a9a3d5c'

function newSecret(): { apiKeySecret: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  const bytes = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')])
  return { apiKeySecret: bytes.toString('base64'), publicKey }
}

const { apiKeySecret, publicKey } = newSecret()

interface Token {
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/** Reads a token as CDP does; null if the signature is not that of the key. */
function tokenOf(authorization: string | undefined, key = publicKey): Token | null {
  const [head = '', body = '', signature = ''] = (authorization ?? '').replace(/^Bearer /, '').split('.')
  if (!verify(null, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))) return null
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  return { header: read(head), claims: read(body) }
}

let url: string
let tokens: { asked: string; token: Token | null }[]
let stop: () => Promise<void>
beforeEach(async () => {
  tokens = []
  const server = await localServer((request, response) => {
    const token = tokenOf(request.headers.authorization)
    tokens.push({ asked: `${request.method} ${request.headers.host}${request.url}`, token })
    const supported = { kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:8453' }] }
    response.writeHead(token ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(token ? supported : { errorType: 'unauthorized' }))
  })
  url = `${server.url}/platform/v2/x402`
  stop = server.close
})
afterEach(() => stop())

const environment = { CDP_API_KEY_ID: apiKeyId, CDP_API_KEY_SECRET: apiKeySecret }

const configOf = (facilitator: string) => `
publicUrl: https://api.example.com
payments:
  evm:
    payTo: '0x000000000000000000000000000000000000dEaD'
    rpcUrl: http://127.0.0.1:9
    facilitator: ${facilitator}
models: [{ id: demo, type: embedding, dimensions: 4, price: { inputPerMillionUsd: 0.02 }, upstreams: [{ engine: demo }] }]
`

const withKey = `cdp: { apiKeyId: '\${CDP_API_KEY_ID}', apiKeySecret: '\${CDP_API_KEY_SECRET}' }`

function settingsOf(facilitator: string, given: Record<string, string> = environment) {
  const { file, secrets } = readConfig(configOf(facilitator), given)
  if (!file.payments) throw new Error('The file has payments.')
  return { settings: paymentSettings(file.payments), secrets }
}

test('a key in farebox.yaml signs each request for its method, host and path', async () => {
  const { settings } = settingsOf(`{ url: '${url}', ${withKey} }`)
  const opened = await rails[0]?.open(settings, { now: () => Date.now() })
  const beforeS = Math.floor(Date.now() / 1000)
  // The facilitator accepts the token, so the problem that is left is the node, which does not exist.
  for (let time = 0; time < 2; time++)
    expect(await opened?.facilitator.problem(settings.options[0])).toMatch(/^The node cannot be reached/)
  await opened?.facilitator.close?.()
  const afterS = Math.floor(Date.now() / 1000)
  expect(tokens).toHaveLength(2)
  for (const { asked, token } of tokens) {
    expect(token?.header).toEqual({
      alg: 'EdDSA',
      kid: apiKeyId,
      typ: 'JWT',
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    const { iat, ...claims } = token?.claims ?? {}
    expect(Number(iat)).toBeGreaterThanOrEqual(beforeS)
    expect(Number(iat)).toBeLessThanOrEqual(afterS)
    expect(claims).toEqual({
      sub: apiKeyId,
      iss: 'cdp',
      aud: ['cdp_service'],
      uris: [asked],
      nbf: iat,
      exp: Number(iat) + 120,
    })
  }
  expect(tokens[0]?.asked).toMatch(/^GET 127\.0\.0\.1:\d+\/platform\/v2\/x402\/supported$/)
  expect(tokens[0]?.token?.header.nonce).not.toBe(tokens[1]?.token?.header.nonce)
})

test('a program signs in with the same headers, which name a payment’s own path', async () => {
  const headers = cdpHeaders({ apiKeyId, apiKeySecret }, { now: () => 1_700_000_000_500 })
  const asked = { action: 'settle', method: 'POST', url: new URL(`${cdpFacilitatorUrl}/settle`) } as const
  const { authorization } = await headers(asked)
  expect(tokenOf(authorization)?.claims).toMatchObject({
    uris: ['POST api.cdp.coinbase.com/platform/v2/x402/settle'],
    iat: 1_700_000_000,
    exp: 1_700_000_120,
  })
  expect(tokenOf(authorization, newSecret().publicKey), 'signed by no other key').toBeNull()
})

test('a facilitator that does not know the key: the operator is told to check the credentials', async () => {
  const { settings } = settingsOf(`{ url: '${url}', ${withKey} }`, {
    ...environment,
    CDP_API_KEY_SECRET: newSecret().apiKeySecret,
  })
  const opened = await rails[0]?.open(settings, { now: () => Date.now() })
  expect(await opened?.facilitator.problem(settings.options[0])).toBe(
    'The facilitator answered 401: check the credentials that it is sent.',
  )
  await opened?.facilitator.close?.()
})

test('Coinbase’s own address is the default, and the secret is kept out of logs', () => {
  const { settings, secrets } = settingsOf(`{ ${withKey} }`)
  expect(settings.facilitator?.url).toBe('https://api.cdp.coinbase.com/platform/v2/x402')
  expect([...secrets]).toContain(apiKeySecret)
})

const mixed = Buffer.concat([
  Buffer.from(newSecret().apiKeySecret, 'base64').subarray(0, 32),
  Buffer.from(apiKeySecret, 'base64').subarray(32),
])

const faulty: [string, string, Record<string, string>, string][] = [
  ['no address and no key', '{}', {}, 'facilitator.url: Field is required.'],
  ['two ways to sign in', `{ authorization: '\${CDP_API_KEY_ID}', ${withKey} }`, {}, 'Set either authorization or cdp'],
  ['a literal secret', `{ cdp: { apiKeyId: a, apiKeySecret: '${apiKeySecret}' } }`, {}, 'a secret in plain text'],
  ['an ECDSA key', `{ ${withKey} }`, { CDP_API_KEY_SECRET: '-----BEGIN EC PRIVATE KEY-----' }, 'algorithm Ed25519'],
  ['half a secret', `{ ${withKey} }`, { CDP_API_KEY_SECRET: apiKeySecret.slice(0, 44) }, '64 bytes in base64'],
  ['halves of two keys', `{ ${withKey} }`, { CDP_API_KEY_SECRET: mixed.toString('base64') }, '64 bytes in base64'],
]

test.each(faulty)('%s: a fault at its place, without the secret', (_, facilitator, given, sentence) => {
  const told = faultsOf(facilitator, { ...environment, ...given })
  expect(told).toMatch(/f\.yaml:7:\d+ payments\.evm\.facilitator/)
  expect(told).toContain(sentence)
  expect(told).not.toContain(apiKeySecret.slice(0, 20))
})

function faultsOf(facilitator: string, given: Record<string, string>): string {
  try {
    settingsOf(facilitator, given)
    return ''
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return error.faults.map(fault => faultLine('f.yaml', fault)).join('\n')
  }
}
