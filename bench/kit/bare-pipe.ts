/** The minimum between a caller and an engine: node:http and undici, every byte passed on unchanged. */
import { createServer } from 'node:http'
import { Agent } from 'undici'

const [, , port = '', upstream = ''] = process.argv
const agent = new Agent({ pipelining: 1 })

createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', async () => {
    const left = new AbortController()
    response.on('close', () => left.abort())
    try {
      const { statusCode, headers, body } = await agent.request({
        origin: upstream,
        path: request.url?.replace('/api', '') ?? '/',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: Buffer.concat(parts),
        signal: left.signal,
      })
      const { 'content-type': type, 'content-length': length } = headers
      response.writeHead(statusCode, {
        'content-type': `${type}`,
        ...(length ? { 'content-length': `${length}` } : {}),
      })
      body.on('error', () => response.destroy())
      body.pipe(response)
    } catch {
      response.destroy()
    }
  })
}).listen(Number(port), '127.0.0.1')
