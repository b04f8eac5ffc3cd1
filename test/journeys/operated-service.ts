/** A service of demonstration engines with a month of data, as its operator runs it: one process, a file, commands. */
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '#ledger/store/open-store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { aMonth } from '../browser/console-service.ts'
import { runCommand } from '../cli/run-command.ts'
import { type SpawnedServe, spawnServe } from '../cli/serve/spawned-serve.ts'

/** Output tokens cost 0.001 USD each, so that a changed price shows in every digit. */
const configOf = (slowUrl: string) => `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:0' }
payments:
  evm:
    payTo: '0xcccccccccccccccccccccccccccccccccccccccc'
    rpcUrl: http://127.0.0.1:9 # nothing answers there
    facilitatorKey: \${FACILITATOR_KEY}
models:
  - id: demo-chat
    type: text
    contextTokens: 8192
    price: { inputPerMillionUsd: 0, outputPerMillionUsd: 1000 }
    upstreams: [{ engine: demo }]
  - id: slow
    type: text
    contextTokens: 8192
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: openai, baseUrl: '${slowUrl}' }]
`

/** A model server whose stream ends only when its caller leaves. */
async function slowServer() {
  const server = createServer(async (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    while (!response.destroyed) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'on ' } }] })}\n\n`)
      await sleep(250)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function writeMonth(folder: string): Promise<void> {
  const service = join(folder, '.farebox', 'service')
  await mkdir(service, { recursive: true })
  const store = await openStore(`sqlite:${join(service, 'farebox.db')}`)
  let units = 0
  await aMonth({
    async commit(...ops) {
      const [outcome] = await store.commit([{ id: `${uuidV7(Date.now())}/${units++}`, ops }])
      if (!outcome?.ok) throw new Error(`The ledger refused ${JSON.stringify(outcome)}.`)
    },
  })
  await store.close()
}

export interface OperatedService {
  serve: SpawnedServe
  /** Runs a command in the folder of the configuration. Throws if it fails. */
  farebox(...args: string[]): Promise<string>
  /** The same for what a command may refuse. */
  run(...args: string[]): ReturnType<typeof runCommand>
  /** One chat: its status, its error's code, its request and the number of tokens that it is charged for. */
  chat(key: string): Promise<{ status: number; code: string | null; request: string; tokens: number }>
  /** A stream that runs until the service ends it. Resolves to the error at its end. */
  endless(key: string): Promise<{ ended: Promise<unknown> }>
  close(): Promise<void>
}

export async function openOperatedService(): Promise<OperatedService> {
  const slow = await slowServer()
  const keys = { FACILITATOR_KEY: `0x${'1'.repeat(64)}` }
  const serve = await spawnServe(configOf(slow.url), keys, [], writeMonth)
  const env = { ...keys, FAREBOX_CONFIG: join(serve.folder, 'farebox.yaml') }
  const run = (...args: string[]) => runCommand(args, env)
  const post = (key: string, body: object) =>
    fetch(`${serve.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello there' }], ...body }),
    })
  return {
    ...{ serve, run },
    async farebox(...args) {
      const { code, stdout, stderr } = await run(...args)
      if (code !== 0) throw new Error(`farebox ${args.join(' ')} ended with ${code}: ${stderr}`)
      return stdout
    },
    async chat(key) {
      const answer = await post(key, { model: 'demo-chat' })
      const { code = null, usage } = (await answer.json()) as { code?: string; usage?: { completion_tokens: number } }
      const request = answer.headers.get('cf-ray') ?? ''
      return { status: answer.status, code, request, tokens: usage?.completion_tokens ?? 0 }
    },
    async endless(key) {
      const answer = await post(key, { model: 'slow', stream: true })
      const chunks = answer.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
      const first = (await chunks?.next())?.value ?? ''
      const whole = async () => {
        let text = first
        for await (const chunk of { [Symbol.asyncIterator]: () => chunks as AsyncIterator<string> }) text += chunk
        const last =
          text
            .split('\n\n')
            .filter(event => event.startsWith('data: {'))
            .at(-1) ?? 'data: {}'
        return (JSON.parse(last.slice('data: '.length)) as { error?: unknown }).error
      }
      return { ended: whole() }
    },
    async close() {
      await serve.dispose()
      await slow.close()
    },
  }
}
