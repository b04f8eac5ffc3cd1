/** Packages that the bundle loads at first use behave as if they had been imported. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lateEntries, lateTokenizer, lateUndici } from '../../scripts/build/late-packages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string

const program = `
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { Agent, EnvHttpProxyAgent, FormData, request, WebSocket } from 'undici'
import { countTokens, decode, encode } from 'gpt-tokenizer/encoding/o200k_base'

const server = createServer((asked, answer) => {
  asked.on('data', () => undefined).on('end', () => answer.end(asked.headers['content-type']?.split(';')[0] ?? 'none'))
})
server.on('upgrade', (asked, socket) => {
  const key = asked.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const accept = createHash('sha1').update(key).digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('error', () => undefined)
})
server.on('connect', (asked, socket) => {
  said.tunnel = asked.url
  socket.end('HTTP/1.1 403 Forbidden\\r\\n\\r\\n')
})
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const url = 'http://127.0.0.1:' + server.address().port
const said = {}
said.instanceBefore = {} instanceof FormData
const [agent, unused] = [new Agent({ connections: 1 }), new Agent()]
await unused.destroy()
said.afterItsEnd = await request(url, { dispatcher: unused }).then(() => 'answered', ({ name }) => name)
const form = new FormData()
form.append('name', 'value')
said.isForm = [form instanceof FormData, {} instanceof FormData]
const { body } = await request(url, { method: 'POST', body: form, dispatcher: agent })
said.sent = await body.text()
const socket = new WebSocket(url.replace('http', 'ws'), { dispatcher: agent })
said.connecting = socket.readyState === WebSocket.CONNECTING
said.open = await new Promise(resolve => {
  socket.addEventListener('open', () => resolve(true))
  socket.addEventListener('error', () => resolve(false))
})
const proxied = new EnvHttpProxyAgent({ httpsProxy: url, noProxy: '' })
await request('https://far.example/', { dispatcher: proxied }).catch(() => undefined)
await proxied.destroy()
said.tokens = [countTokens('The tide turns.'), decode(encode('The tide turns.'))]
await agent.destroy()
said.afterItsWork = await request(url, { dispatcher: agent }).then(() => 'answered', ({ name }) => name)
console.log(JSON.stringify(said))
process.exit()
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-late-'))
  const source = join(root, 'node_modules/.late-program.mjs')
  await writeFile(source, program)
  try {
    const input = { program: source, ...lateEntries(root) }
    await using build = await rolldown({ input, platform: 'node', plugins: [lateTokenizer, lateUndici] })
    await build.write({ dir: folder, format: 'esm', entryFileNames: '[name].js' })
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  } finally {
    await rm(source)
  }
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('requests, forms, sockets and token counts work from their first use to their end', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'program.js')])
  expect(JSON.parse(stdout)).toEqual({
    instanceBefore: false,
    afterItsEnd: 'ClientDestroyedError',
    isForm: [true, false],
    sent: 'multipart/form-data',
    connecting: true,
    open: true,
    tunnel: 'far.example:443',
    tokens: [4, 'The tide turns.'],
    afterItsWork: 'ClientDestroyedError',
  })
})
