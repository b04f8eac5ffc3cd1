import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isPublicAddress } from '#contract/wire/network-address.ts'
import { FetchRefused } from '#engines/fetch/fetcher.ts'
import { type FetchOrder, GuardedFetcher, type GuardedFetcherOptions } from '#engines/fetch/guarded-fetcher.ts'

let answer: RequestListener = (_request, response) => response.end('a file')
let asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  answer(request, response)
})
let host = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise<void>(resolve => server.close(() => resolve())))

const open: GuardedFetcher[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
  asked = []
  answer = (_request, response) => response.end('a file')
})

function fetcher(options: GuardedFetcherOptions = {}): GuardedFetcher {
  const made = new GuardedFetcher(options)
  open.push(made)
  return made
}

const order = (url: string, rest: Partial<FetchOrder> = {}): FetchOrder => ({
  url,
  mostBytes: 1_000,
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...rest,
})

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fetched',
    error => (error instanceof FetchRefused ? `${error.reason}: ${error.message}` : error),
  )

describe('what is not of the public web is never asked', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.0.0.1./',
    'http://１２７.0.0.1/',
    'http://0/',
    'http://10.1.2.3/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:0:7f00:1::]/',
    'http://[fc00::1]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://user:password@example.com/',
    'http://example.com:22/',
    'file:///etc/passwd',
    'ftp://example.com/',
    'data:text/html,hello',
    'javascript:alert(1)',
    'no address',
    '',
  ])('%s', async url => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    expect(await refusal(fetcher({ resolve }).fetch(order(url)))).toMatch(/^address: must /)
    expect(asked).toEqual([])
  })

  test.each([
    ['one private address', ['127.0.0.1']],
    ['a private address beside a public one', ['1.1.1.1', '10.0.0.1']],
    ['a mapped one', ['::ffff:127.0.0.1']],
    ['none', []],
  ])('a name that resolves to %s', async (_what, addresses) => {
    const resolve = async () => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    const outcome = await refusal(fetcher({ resolve }).fetch(order('http://rebound.example/')))
    expect(outcome).toBe('address: must be a public address')
  })

  test('G1: a redirect to a private address is refused as if it had been named', async () => {
    answer = (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1/secret' }).end()
    const outcome = await refusal(fetcher({ privateHosts: [host] }).fetch(order(`http://${host}/`)))
    expect(outcome).toBe('address: must be a public address')
    expect(asked).toEqual(['/'])
  })

  test('G1: what reads as two hosts is the one that would be asked', () => {
    expect(fetcher().checked('http://1.1.1.1\\@127.0.0.1/').host).toBe('1.1.1.1')
  })

  test.each([
    ['1.1.1.1', true],
    ['2606:4700::1111', true],
    ['not an address', false],
  ])('%s is public: %s', (address, isPublic) => expect(isPublicAddress(address)).toBe(isPublic))
})

describe('what an operator allows', () => {
  test('is fetched, over three redirects, with its type', async () => {
    answer = (request, response) => {
      const hop = Number(request.url?.slice(1) || 0)
      if (hop < 3) response.writeHead(301, { location: `/${hop + 1}` }).end()
      else response.writeHead(200, { 'content-type': 'Text/HTML; charset="UTF-8"' }).end('<p>here</p>')
    }
    const file = await fetcher({ privateHosts: [host] }).fetch(order(`http://${host}/`))
    expect(file).toEqual({
      url: `http://${host}/3`,
      mimeType: 'text/html',
      charset: 'utf-8',
      bytes: Buffer.from('<p>here</p>'),
    })
  })

  test('a listed name is trusted on its port alone, also where a redirect leads to another', async () => {
    const port = host.slice(host.lastIndexOf(':') + 1)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const options = { resolve, privateHosts: [`files.example:${port}`] }
    answer = (request, response) =>
      request.url === '/on' ? response.writeHead(302, { location: 'https://files.example/' }).end() : response.end('x')
    const fetched = (url: string) => refusal(fetcher(options).fetch(order(url)))
    expect(await fetched(`http://files.example:${port}/`)).toBe('fetched')
    for (const url of ['http://files.example/', 'https://files.example/', `http://files.example:${port}/on`]) {
      expect(await fetched(url)).toBe('address: must be a public address')
    }
    expect(asked).toEqual(['/', '/on'])
  })

  test.each<[string, RequestListener, string]>([
    [
      'four redirects',
      (_, response) => response.writeHead(302, { location: '/' }).end(),
      'unreachable: it redirects more than 3 times',
    ],
    [
      'a redirect to nowhere',
      (_, response) => response.writeHead(302).end(),
      'unreachable: its redirect has no valid target',
    ],
    ['a 404', (_, response) => response.writeHead(404).end('gone'), 'unreachable: its server answered 404'],
    [
      'a length that is too much',
      (_, response) => response.end('x'.repeat(1_001)),
      'too_large: it has more than 1000 bytes',
    ],
    [
      'a stream that is too much',
      (_, response) => {
        response.write('x'.repeat(600))
        response.end('x'.repeat(600))
      },
      'too_large: it has more than 1000 bytes',
    ],
    [
      'a compressed answer',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      'unreachable: its server only sends compressed content',
    ],
    ['a connection that breaks', (_, response) => response.destroy(), 'unreachable: its server closed the connection'],
  ])('%s', async (_what, given, expected) => {
    answer = given
    expect(await refusal(fetcher({ privateHosts: [host] }).fetch(order(`http://${host}/`)))).toBe(expected)
  })

  test('a server that never answers, within the time of the order', async () => {
    answer = () => undefined
    const outcome = await refusal(fetcher({ privateHosts: [host] }).fetch(order(`http://${host}/`, { timeoutMs: 50 })))
    expect(outcome).toBe('too_late: it took too long to arrive')
  })

  test('a caller who leaves gets their own reason', async () => {
    const signal = AbortSignal.abort(new Error('left'))
    await expect(fetcher({ privateHosts: [host] }).fetch(order(`http://${host}/`, { signal }))).rejects.toThrow('left')
  })
})
