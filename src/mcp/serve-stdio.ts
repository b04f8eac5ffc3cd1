import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '#contract/clock.ts'
import type { Catalogue } from '#toolkit/catalogue.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { stateCodec } from './asked-state.ts'
import { stopMs } from './bounds.ts'
import type { Desk } from './call-tool.ts'
import { callsInFlight } from './calls-in-flight.ts'
import { Deliveries } from './deliveries.ts'
import { type LogLine, logFault } from './fault-log.ts'
import { listing } from './listing.generated.ts'
import { chooseTools } from './listing.ts'
import { makeServer } from './server.ts'
import { connectStdio } from './stdio.ts'

export interface ServeMcp {
  name: string
  version: string
  /** Called at the first tool call, never before; called again where it failed. */
  host: () => Promise<ToolHost>
  catalogue: Catalogue
  /** Names of the tools to serve; all where absent. An unknown name throws. */
  tools?: readonly string[] | undefined
  /** The process's own where absent. */
  input?: Readable
  output?: Writable
  /** At least 32 bytes that sign what a question leaves with the client; random where absent. */
  stateKey?: Uint8Array
  clock?: Clock
  log?: LogLine
}

export interface McpSession {
  /** Resolves when the client has gone, calls in flight have stopped and the host is closed. Never rejects. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Serves MCP on stdio until the client closes it. */
export function serveMcp(options: ServeMcp): McpSession {
  const { name, version, catalogue, stateKey, clock = systemClock, log = toStderr } = options
  const chosen = chooseTools(listing, options.tools)
  const host = onFirstUse(options.host)
  const calls = callsInFlight()
  const deliveries = new Deliveries()
  const desk: Desk = { catalogue, host: host.get, states: stateCodec(stateKey), calls, deliveries, clock, log }
  const connection = connectStdio(() => makeServer({ name, version }, chosen, desk), {
    ...(options.input ? { input: options.input } : {}),
    ...(options.output ? { output: options.output } : {}),
    onError: error => logFault(log, 'transport', error),
    onWritten: message => deliveries.written(message),
  })
  const closed = connection.closed
    .then(() => calls.settled(stopMs))
    .then(() => Promise.race([host.close(), sleep(stopMs, undefined, { ref: false })]))
    .catch(error => void logFault(log, 'close', error))
  return {
    closed,
    async close() {
      await connection.close()
      await closed
    },
  }
}

/** One host for all calls. A failure to make it is not kept, so that what a person mends is found. */
function onFirstUse(make: () => Promise<ToolHost>) {
  let made: Promise<ToolHost> | undefined
  return {
    get() {
      made ??= make().catch(error => {
        made = undefined
        throw error
      })
      return made
    },
    async close() {
      await (await made)?.close()
    },
  }
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`)
}
