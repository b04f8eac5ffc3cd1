/** Images that a chat names by their addresses (published contract §5.1). */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Fetcher, FetchRefused } from '#engines/fetch/fetcher.ts'
import { type FetchOrder, GuardedFetcher } from '#engines/fetch/guarded-fetcher.ts'
import { imageFileBytes } from '#engines/images/image-file.ts'
import { audit } from '#ledger/audit/audit.ts'
import { namedMediaBytes, namedMediaCount } from '#service/capabilities/chat/chat-media.ts'
import { imageFetchMs } from '#service/capabilities/images/edit-image.ts'
import { type ChatFixture, type Customer, openFixture } from './chat-fixture.ts'
import { used } from './chat-script.ts'
import { dataUrl, png } from './models/example-images.ts'

const image = png(8, 8)
const showImage: RequestListener = (_request, response) =>
  // What a server says of its bytes counts for nothing.
  void response.writeHead(200, { 'content-type': 'text/html' }).end(image)

let answer = showImage
let asked: string[] = []
const files = createServer((request, response) => {
  asked.push(request.url ?? '')
  answer(request, response)
})

let orders: FetchOrder[] = []
/** Takes the place of the guarded one for what would take time or memory. */
let instead: Fetcher['fetch'] | null = null
const resolved: Record<string, string[]> = {
  'inner.example': ['10.0.0.1'],
  'both.example': ['1.1.1.1', '127.0.0.1'],
}

let host = ''
let guarded: GuardedFetcher
let fixture: ChatFixture
let customer: Customer
beforeAll(async () => {
  await new Promise<void>(resolve => files.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(files.address() as AddressInfo).port}`
  guarded = new GuardedFetcher({
    privateHosts: [host],
    resolve: async name => (resolved[name] ?? []).map(address => ({ address, family: 4 })),
  })
  const fetch: Fetcher['fetch'] = order => {
    orders.push(order)
    return instead ? instead(order) : guarded.fetch(order)
  }
  fixture = await openFixture({ fetcher: { fetch } })
  customer = await fixture.customer(10)
})
afterEach(() => {
  // Many refusals in a row are refused for being many.
  fixture.service.clock.pass(60_000)
  answer = showImage
  instead = null
  asked = []
  orders = []
})
afterAll(async () => {
  expect(await fixture.openHolds()).toBe(0)
  expect((await audit(fixture.service.database)).findings).toEqual([])
  expect(fixture.service.logged.filter(({ level }) => level === 'error')).toEqual([])
  await fixture.service.close()
  await guarded.close()
  files.closeAllConnections()
  await new Promise(resolve => files.close(resolve))
})

const at = (path = '/a.png') => `http://${host}${path}`
const named = (...urls: string[]) => ({
  max_tokens: 4,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is this?' },
        ...urls.map(url => ({ type: 'image_url', image_url: { url, detail: 'low' } })),
      ],
    },
  ],
})
const shownToEngine = () =>
  fixture.engine.calls
    .flatMap(({ request }) => request.messages)
    .flatMap(({ content }): unknown[] => [content ?? []].flat())

async function send(body: object, by = customer) {
  fixture.engine.play([{ text: 'a square' }, { usage: used(20, 2) }])
  const before = await fixture.ledger(by.account)
  const response = await fixture.chat(by, body)
  const text = await response.text()
  const after = await fixture.ledger(by.account)
  return { status: response.status, text, charged: after.charged - before.charged }
}

test.each([
  ['a whole answer', {}],
  ['a stream', { stream: true }],
])('%s: the engine is given the bytes, as what they are', async (_what, more) => {
  const { status, charged } = await send({ ...named(at()), ...more })
  expect([status, charged]).toEqual([200, 40n])
  expect(shownToEngine()).toContainEqual({
    type: 'image_url',
    image_url: { url: dataUrl('png', image), detail: 'low' },
  })
})

test('Responses take them too', async () => {
  fixture.engine.play([{ text: 'a square' }, { usage: used(20, 2) }])
  const content = [{ type: 'input_image', image_url: at() }]
  const body = { model: 'scripted', max_output_tokens: 4, input: [{ type: 'message', role: 'user', content }] }
  expect((await fixture.service.post('/responses', body, customer.key)).status).toBe(200)
  expect(shownToEngine()).toContainEqual(
    expect.objectContaining({ image_url: expect.objectContaining({ url: dataUrl('png', image) }) }),
  )
})

test('the same address is asked once, however often it is named, and others each', async () => {
  expect((await send(named(at(), at(), at('/b.png'), dataUrl('png', image)))).status).toBe(200)
  expect(asked).toEqual(['/a.png', '/b.png'])
  expect(JSON.stringify(shownToEngine())).not.toContain(host)
})

test('all of them share their time and their bytes', async () => {
  instead = async ({ url }) => ({ url, mimeType: 'image/png', charset: null, bytes: image })
  await send(named('https://a.example/1', 'https://a.example/2'))
  expect(orders.map(({ mostBytes }) => mostBytes)).toEqual([
    imageFileBytes,
    Math.min(imageFileBytes, namedMediaBytes - image.length),
  ])
  for (const { timeoutMs } of orders) expect(timeoutMs).toBeLessThanOrEqual(imageFetchMs)
  const large = Buffer.concat([image, Buffer.alloc(15 * 1024 * 1024)])
  instead = async ({ url }) => ({ url, mimeType: 'image/png', charset: null, bytes: large })
  orders = []
  await send(named('https://a.example/1', 'https://a.example/2'))
  expect(orders.map(({ mostBytes }) => mostBytes)).toEqual([imageFileBytes, namedMediaBytes - large.length])
})

const redirectTo =
  (location: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(302, { location }).end()
const say =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)
const endless: RequestListener = (_request, response) => {
  const part = Buffer.alloc(1024 * 1024)
  const more = () => {
    while (!response.destroyed && response.write(part));
  }
  response.on('drain', more)
  more()
}
const late = async () => Promise.reject(new FetchRefused('too_late', 'it took too long to arrive'))
const isPublic = /public address/

test.each<[rule: string, url: () => string, message: RegExp, server?: RequestListener, fetch?: Fetcher['fetch']]>([
  ['G1 an inner address', () => 'http://169.254.169.254/latest/meta-data', isPublic],
  ['G1 an inner address by another spelling', () => 'HTTPS://0x7f000001/', isPublic],
  ['G1 a name that leads inside', () => 'http://inner.example/a.png', isPublic],
  ['G1 a name that leads both ways, as one that is rebound', () => 'https://both.example/a.png', isPublic],
  ['G1 a redirect inside', at, isPublic, redirectTo('http://127.0.0.1/secret')],
  ['G1 a redirect to a name that leads inside', at, isPublic, redirectTo('https://inner.example/')],
  ['G1 a redirect to another scheme', at, /https:\/\/ or http:\/\//, redirectTo('file:///etc/passwd')],
  ['G1 a redirect without end', at, /redirects more than/, redirectTo('/a.png')],
  ['contains a password', () => 'https://me:secret@a.example/', /user name or password/],
  ['another port', () => 'https://a.example:22/', /port 80 or 443/],
  ['nothing there', at, /its server answered 404/, say(404, 'none')],
  [
    'a page that says that it is an image',
    at,
    /not an image of the types/,
    say(200, '<html>', { 'content-type': 'image/png' }),
  ],
  [
    'a drawing that is a program',
    at,
    /not an image of the types/,
    say(200, '<svg onload="x"/>', { 'content-type': 'image/svg+xml' }),
  ],
  [
    'an image that unfolds to billions of pixels',
    at,
    /pixels at most/,
    say(200, png(8, 8, { width: 60_000, height: 60_000 })),
  ],
  ['half an image', at, /cut off or damaged/, say(200, image.subarray(0, 20))],
  ['nothing at all', at, /not an image of the types/, say(200, '')],
  [
    'one that says it is huge',
    at,
    /more than \d+ bytes/,
    say(200, '', { 'content-length': String(imageFileBytes + 1) }),
  ],
  ['one without end', at, /more than \d+ bytes/, endless],
  ['one that does not come', at, /took too long/, showImage, late],
])(
  '%s: 400 that names the field, and nothing is charged or asked of the model',
  async (_rule, url, message, server, fetch) => {
    answer = server ?? showImage
    instead = fetch ?? null
    const { status, text, charged } = await send(named(dataUrl('png', image), url()))
    expect([status, charged, fixture.engine.calls]).toEqual([400, 0n, []])
    expect(JSON.parse(text).issues).toEqual([
      expect.objectContaining({
        path: ['messages', 0, 'content', 2, 'image_url', 'url'],
        message: expect.stringMatching(message),
      }),
    ])
    expect(text).not.toContain('secret')
  },
)

test('more addresses than one request may name are refused before the first is asked', async () => {
  const { status, text } = await send(
    named(...Array.from({ length: namedMediaCount + 1 }, (_, each) => at(`/${each}`))),
  )
  expect([status, orders]).toEqual([400, []])
  expect(text).toContain(`at most ${namedMediaCount} URLs`)
})

test('nothing is fetched for a caller who cannot pay', async () => {
  expect((await send(named(at()), await fixture.customer(0))).status).toBe(402)
  expect(orders).toEqual([])
})

test('a caller who leaves ends the fetch', async () => {
  const leaving = new AbortController()
  const begun = Promise.withResolvers<AbortSignal>()
  instead = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      begun.resolve(signal)
    })
  fixture.engine.play([{ text: 'a square' }])
  const request = fixture.chat(customer, named(at()), { signal: leaving.signal })
  const signal = await begun.promise
  leaving.abort()
  await request.catch(() => null)
  expect([signal.aborted, fixture.engine.calls, await fixture.openHolds()]).toEqual([true, [], 0])
})
