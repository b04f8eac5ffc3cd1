/** Views of the MCP Apps extension (SEP-1865) as a client reads them; `test/browser/apps.test.ts` runs them. */
import { expect, test } from 'vitest'
import { listing } from '#mcp/listing.generated.ts'
import { chooseTools } from '#mcp/listing.ts'
import { connect, eras } from './connect.ts'
import { fakeHost } from './fake-host.ts'

const apps = listing.resources.filter(({ uri }) => uri.startsWith('ui://'))
const linked = new Set(listing.tools.flatMap(({ _meta }) => (_meta ? [_meta.ui.resourceUri] : [])))

test('every view is linked by a tool, and every link leads to a view', () => {
  expect([...linked].sort()).toEqual(apps.map(({ uri }) => uri).sort())
  expect(apps.map(({ uri }) => uri)).toEqual(['ui://farebox/approval', 'ui://farebox/media', 'ui://farebox/spending'])
})

test('a view comes with the tools that it is for', () => {
  const offered = (...words: string[]) =>
    chooseTools(listing, words).resources.flatMap(({ uri }) => (uri.startsWith('ui:') ? uri : []))
  expect(offered('chat')).toEqual([])
  expect(offered('image')).toEqual(['ui://farebox/media'])
  expect(offered('wallet')).toEqual(['ui://farebox/approval', 'ui://farebox/spending'])
})

test.each(eras)('a client reads them before the first call, without a wallet (%s)', async era => {
  const { client, hostsMade, disconnect } = await connect({ era, host: fakeHost().host })
  for (const { uri } of apps) {
    const { contents } = await client.readResource({ uri })
    expect(contents).toMatchObject([
      { uri, mimeType: 'text/html;profile=mcp-app', _meta: { ui: { prefersBorder: true } } },
    ])
  }
  expect(hostsMade()).toBe(0)
  await disconnect()
})

test.each(apps.map(({ uri }) => uri))('%s names no address, and runs no script but its own', async uri => {
  const { client, disconnect } = await connect({ host: fakeHost().host })
  const [content] = (await client.readResource({ uri })).contents
  await disconnect()
  const html = content && 'text' in content ? content.text : ''
  expect(html).not.toMatch(/https?:|innerHTML|eval\(|import\(|fetch\(/)
  expect(html).toMatch(/default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; img-src data:;/)
  expect(html.match(/<script\b/g)).toHaveLength(1)
  expect(Buffer.byteLength(html)).toBeLessThan(16_000)
})

test('no tool can approve, so a view that calls tools cannot either', () => {
  const deciding = listing.tools.filter(({ name }) => /approv|consent|confirm|decide|answer/.test(name))
  expect(deciding).toEqual([])
  for (const { _meta } of listing.tools)
    expect(Object.keys(_meta?.ui ?? {}).filter(key => key !== 'resourceUri')).toEqual([])
})
