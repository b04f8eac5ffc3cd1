import { PassThrough } from 'node:stream'
import { Client, type ClientCapabilities, type ElicitResult } from '@modelcontextprotocol/client'
import { type Clock, systemClock } from '#contract/time.ts'
import { formReadMs } from '#mcp/bounds.ts'
import { serveMcp } from '#mcp/stdio.ts'
import type { Catalogue } from '#toolkit/define.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { catalogue } from './catalogue.ts'
import { linesTransport } from './lines-transport.ts'

export const eras = ['legacy', 'modern'] as const
export type Era = (typeof eras)[number]

export interface Connection {
  client: Client
  /** Lines for the operator. */
  log: string[]
  /** Everything that the server has written. */
  written(): string
  hostsMade(): number
  disconnect(): Promise<void>
}

export interface Connect {
  era?: Era
  /** Of the client. */
  name?: string
  host: ToolHost | (() => Promise<ToolHost>)
  /** Declared by the client; with it, `elicit` answers. */
  capabilities?: ClientCapabilities
  elicit?: (message: string, schema: unknown) => ElicitResult | Promise<ElicitResult>
  /** How long `elicit` takes by the server's clock, in milliseconds; as long as a user by default. */
  readingMs?: number
  tools?: string[]
  stateKey?: Uint8Array
  /** In place of the own one. */
  catalogue?: Catalogue
  autoFulfill?: boolean
  clock?: Clock
}

/** A real client and the real server on two ends of a pipe. */
export async function connect({
  era = 'legacy',
  name = 'test',
  host,
  capabilities = {},
  elicit,
  ...rest
}: Connect): Promise<Connection> {
  const toServer = new PassThrough()
  const fromServer = new PassThrough()
  const log: string[] = []
  let written = ''
  let hostsMade = 0
  let readMs = 0
  const clock = rest.clock ?? systemClock
  fromServer.on('data', (chunk: Buffer) => {
    written += chunk.toString()
  })
  const session = serveMcp({
    name: 'farebox',
    version: '0.0.0',
    catalogue: rest.catalogue ?? catalogue,
    async host() {
      hostsMade += 1
      return typeof host === 'function' ? host() : host
    },
    input: toServer,
    output: fromServer,
    log: line => log.push(line),
    ...(rest.tools ? { tools: rest.tools } : {}),
    ...(rest.stateKey ? { stateKey: rest.stateKey } : {}),
    clock: { now: () => clock.now() + readMs },
  })
  const client = new Client(
    { name, version: '0' },
    {
      capabilities,
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      inputRequired: { autoFulfill: rest.autoFulfill ?? true },
    },
  )
  if (elicit) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      readMs += rest.readingMs ?? formReadMs
      return elicit(params.message, 'requestedSchema' in params ? params.requestedSchema : undefined)
    })
  }
  await client.connect(linesTransport(fromServer, toServer))
  return {
    client,
    log,
    written: () => written,
    hostsMade: () => hostsMade,
    async disconnect() {
      await client.close()
      await session.closed
    },
  }
}

/** All text of a result. */
export const textOf = (result: { content: readonly { type: string }[] }): string =>
  result.content.flatMap(part => ('text' in part && typeof part.text === 'string' ? [part.text] : [])).join('\n')
