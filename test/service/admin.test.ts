import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { proofOfSecret, type ServerEnd } from '#host/signatures/signatures.ts'
import { Listener } from '#service/http/listener.ts'
import { adminToken, type OpenedService, openService } from './open-service.ts'

let service: OpenedService
beforeEach(async () => {
  service = await openService()
})
afterEach(() => service.close())

const order = (body: unknown, token = adminToken) =>
  service.request('/admin/v1/keys', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

test('a key with credit is created for a caller with the token', async () => {
  const response = await order({ usd: '2.5', label: 'laptop' })
  expect(response.status).toBe(200)
  const { key } = (await response.json()) as { key: string }
  const limits = await service.request('/api/v1/api_keys/rate_limits', { headers: { authorization: `Bearer ${key}` } })
  expect(await limits.json()).toMatchObject({ data: { balances: { USD: 2.5 } } })
})

test.each([
  ['no JSON', '{', 400],
  ['nothing', '', 400],
  ['another member', { usd: '1', label: '', admin: true }, 400],
  ['a negative amount', { usd: '-1', label: '' }, 400],
  ['an invalid amount', { usd: '1e9', label: '' }, 400],
  ['more than can be meant', { usd: '9007199254.740993', label: '' }, 400],
])('%s is a 400, and nothing is made', async (_what, body, status) => {
  expect((await order(body)).status).toBe(status)
  expect(await service.store.read.selectFrom('account').selectAll().execute()).toEqual([])
  expect(service.logged).toEqual([])
})

test('a wrong token makes nothing, and guessing is blocked', async () => {
  for (let guess = 0; guess < 21; guess++)
    expect((await order({ usd: '1', label: '' }, `guess ${guess}`)).status).toBe(401)
  expect((await order({ usd: '1', label: '' }, 'another guess')).status).toBe(429)
  expect(await service.store.read.selectFrom('account').selectAll().execute()).toEqual([])
})

test.each([
  ['the address itself, as of a command on its machine', '192.0.2.7', {}, 200],
  ['another address', '192.0.2.8', {}, 403],
  ['the address itself, through a proxy there', '192.0.2.7', { 'x-forwarded-for': ['192.0.2.8'] }, 403],
])('on an address that is not loopback, commands come from %s', async (_, remoteAddress, headersDistinct, status) => {
  const incoming = { socket: { remoteAddress, localAddress: '192.0.2.7', localPort: 8402 }, headersDistinct }
  const sent = { method: 'POST', headers: { authorization: `Bearer ${adminToken}` }, body: '{}' }
  for (const path of ['/admin/v1/proof?challenge=one', '/admin/v1/ledger'])
    expect((await service.service.app.request(path, sent, { incoming })).status).toBe(status)
})

test('a command with the token can tell the service from another program, without sending the token', async () => {
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((request, bindings) => service.service.app.fetch(request, bindings))
  onTestFinished(() => listener.close(0))
  const { port } = listener
  const ask = (challenge: string, headers = {}) =>
    fetch(`http://127.0.0.1:${port}/admin/v1/proof?challenge=${challenge}`, { method: 'POST', headers })
  const expected = (challenge: string, end: ServerEnd) => ({ proof: proofOfSecret(adminToken, challenge, end) })
  const proof = async () => (await ask('one')).json()
  expect(await proof()).toEqual(expected('one', { address: '127.0.0.1', port }))
  expect(await proof()).toEqual(expected('one', { address: '::ffff:127.0.0.1', port }))
  expect(await proof()).not.toEqual(expected('two', { address: '127.0.0.1', port }))
  expect(await proof()).not.toEqual(expected('one', { address: '127.0.0.1', port: port - 1 }))
  expect(await proof()).not.toEqual(expected('one', { address: '127.0.0.2', port }))
  expect((await ask('one', { 'x-forwarded-for': '192.0.2.1' })).status).toBe(403)
})
