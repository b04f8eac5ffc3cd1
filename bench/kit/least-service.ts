/**
 * The least that can charge durably: a pipe that looks up a key, writes a hold before it calls the engine and a capture
 * before it answers. It has no limits, schemas, prices or errors. With this store, farebox cannot be cheaper.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { Worker } from 'node:worker_threads'
import { Agent } from 'undici'
import type { Held } from './bare-rows.ts'
import type { Done, Order } from './least-writer.ts'

const [, , port = '', upstream = '', path = '', key = ''] = process.argv
const agent = new Agent({ pipelining: 1 })
const keys = new Set([hashOf(key)])
const writer = new Worker(new URL('least-writer.ts', import.meta.url), { workerData: { path } })
const waiting = new Map<number, (held: Held | null) => void>()
let gathered: Order[] = []
let number = 0

writer.on('message', (done: Done[]) => {
  for (const { number, held } of done) {
    waiting.get(number)?.(held)
    waiting.delete(number)
  }
})

/** Resolves when it is on the disk, with the hold that was made. */
function write(order: { hold: true } | { capture: Held }): Promise<Held | null> {
  if (gathered.length === 0) setImmediate(send)
  const own = number++
  gathered.push({ number: own, ...order })
  return new Promise(resolve => waiting.set(own, resolve))
}

function send(): void {
  writer.postMessage(gathered)
  gathered = []
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

createServer((request, response) => {
  if (request.url === '/') return response.end()
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', async () => {
    if (!keys.has(hashOf(request.headers.authorization ?? ''))) return response.writeHead(401).end()
    try {
      const asked = JSON.parse(`${Buffer.concat(parts)}`)
      const held = await write({ hold: true })
      const { body } = await agent.request({
        origin: upstream,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      })
      const text = await body.text()
      const { usage } = JSON.parse(text)
      if (held && usage) await write({ capture: held })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.end(text)
    } catch {
      response.destroy()
    }
  })
}).listen(Number(port), '127.0.0.1')
