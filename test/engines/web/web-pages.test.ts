import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PageConverter, WebPages } from '#engines/web/web-pages.ts'

const article = `<!doctype html><html><head><title>Fares</title><script>document.title = 'changed'</script></head>
<body><nav><a href="/">Home</a></nav><main><article><h1>Fares of 2026</h1>
<p>The table has every zone of the city, and the price of a ride in each of them. See <a href="/rules">the rules</a>.</p>
<table><thead><tr><th>Zone</th><th>Price</th></tr></thead><tbody><tr><td>A</td><td>2 USD</td></tr></tbody></table>
<p>Children ride free of charge, and dogs pay half of the price that a person pays.</p></article></main></body></html>`

let give: (response: ServerResponse) => void
const server = createServer((_request, response) => give(response))
const { signal } = new AbortController()
let pages: WebPages
let url = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  url = `http://${host}/fares`
  pages = new WebPages({ privateHosts: [host], convertMs: 60_000 })
})
afterAll(async () => {
  await pages.close()
  await new Promise<void>(resolve => server.close(() => resolve()))
})

const html =
  (body: string | Buffer, type = 'text/html') =>
  (response: ServerResponse) =>
    response.setHeader('content-type', type).end(body)

describe('a page of HTML', { tags: ['engines'] }, () => {
  test('is Markdown with its tables, without its frame, its links whole', { timeout: 60_000 }, async () => {
    give = html(article)
    const { title, content } = await pages.read({ url, signal })
    expect(title).toBe('Fares')
    expect(content).toContain('| Zone | Price |\n| --- | --- |\n| A | 2 USD |')
    expect(content).toContain(`[the rules](${new URL('/rules', url).href})`)
    expect(content).not.toContain('Home')
  })

  test('in another charset', { timeout: 60_000 }, async () => {
    give = html(
      Buffer.from(
        '<html><body><article><p>Gr\xfc\xdfe aus der Stadt, in der alles f\xe4hrt.</p></article></body></html>',
        'latin1',
      ),
      'text/html; charset=iso-8859-1',
    )
    expect((await pages.read({ url, signal })).content).toContain('Grüße aus der Stadt')
  })

  test.each(['', '<html><body></body></html>', '<script>only()</script>'])(
    'without text: %j',
    { timeout: 60_000 },
    async body => {
      give = html(body)
      await expect(pages.read({ url, signal })).rejects.toThrow('has no readable text')
    },
  )

  test.each([
    ['elements that end', `${'<div>'.repeat(300_000)}x${'</div>'.repeat(300_000)}`],
    ['elements that never end', `<p>${'<b>'.repeat(300_000)}x`],
    ['invalid ends', '<div><!--</div>--><a title="</div>">'.repeat(20_000)],
  ])('D10: of too many elements within each other is refused at once: %s', { timeout: 60_000 }, async (_what, body) => {
    give = html(body)
    await expect(pages.read({ url, signal })).rejects.toThrow('is nested too deeply')
  })

  test('is not waited for after the caller has left', { timeout: 60_000 }, async () => {
    const converter = new PageConverter({ timeoutMs: 60_000 })
    const left = new AbortController()
    const reading = converter.convert({ html: article, url }, left.signal)
    left.abort(new Error('gone'))
    await expect(reading).rejects.toThrow('gone')
    await converter.close()
  })

  test('that takes too long is given up, and the next one is read', { timeout: 60_000 }, async () => {
    const converter = new PageConverter({ timeoutMs: 1 })
    await expect(converter.convert({ html: article, url })).rejects.toThrow('takes too long to read')
    await converter.close()
    give = html(article)
    expect((await pages.read({ url, signal })).title).toBe('Fares')
  })
})

test('text is unchanged, and cut if it is too long', async () => {
  give = html('# Plain', 'text/plain; charset=utf-8')
  expect(await pages.read({ url, signal })).toEqual({ title: '', content: '# Plain' })
  give = html('x'.repeat(200_001), 'text/plain')
  expect((await pages.read({ url, signal })).content).toMatch(/x\n\n\(The rest of the page was left out\.\)$/)
})

test.each<[string, (response: ServerResponse) => void, string]>([
  ['an image', html('x', 'image/png'), 'is not a page'],
  ['no type', response => response.end('x'), 'is not a page'],
  ['a 500', response => response.writeHead(500).end(), 'could not be read: its server answered 500'],
  ['six megabytes', html('x'.repeat(6 * 1024 * 1024)), 'could not be read: it has more than 5242880 bytes'],
])('%s is not read', async (_what, given, words) => {
  give = given
  await expect(pages.read({ url, signal })).rejects.toThrow(words)
})

test('an address that is not public is refused before anything is asked', async () => {
  await expect(pages.read({ url: 'http://169.254.169.254/', signal })).rejects.toThrow(/^must be a public address$/)
})
