import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '@modelcontextprotocol/server'
import { type Clock, systemClock } from '#contract/time.ts'
import type { Catalogue } from '#toolkit/define.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { stopMs } from './bounds.ts'
import {
  type CallsInFlight,
  callsInFlight,
  type Deliveries,
  KnownChoices,
  type LogLine,
  stateCodec,
} from './context.ts'
import { logFault } from './faults.ts'
import { listing as ownListing } from './listing.generated.ts'
import { chooseTools, type Listing } from './listing.ts'
import { type Era, makeServer } from './server.ts'

/** What a process serves, by whatever transport. */
export interface EndpointOptions {
  name: string
  version: string
  /** Called at the first tool call, never before; called again where it failed. */
  host: () => Promise<ToolHost>
  catalogue: Catalogue
  /** What the catalogue holds, as clients see it; our own where absent. */
  listing?: Listing
  /** Names of the tools or sets to serve; the default tools where absent. An unknown one throws. */
  tools?: readonly string[] | undefined
  /** At least 32 bytes that sign what a question leaves with the client; random where absent. */
  stateKey?: Uint8Array
  clock?: Clock
  log?: LogLine
}

/** One host and one listing behind all connections of a process. */
export interface Endpoint {
  calls: CallsInFlight
  clock: Clock
  log: LogLine
  /** A server for one connection, or for one exchange where a transport knows no connections. */
  serverFor(deliveries: Pick<Deliveries, 'expect' | 'forget'>, era: Era): Server
  /** Closes the host. Never rejects, and takes no longer than hosts may. */
  close(): Promise<void>
}

export function openEndpoint({ name, version, catalogue, stateKey, ...rest }: EndpointOptions): Endpoint {
  const { clock = systemClock, log = toStderr } = rest
  const chosen = chooseTools(rest.listing ?? ownListing, rest.tools)
  const host = onFirstUse(rest.host)
  const calls = callsInFlight()
  const choices = new KnownChoices(clock)
  const shared = { catalogue, host: host.get, states: stateCodec(stateKey), choices, calls, clock, log }
  return {
    calls,
    clock,
    log,
    serverFor: (deliveries, era) => makeServer({ name, version }, chosen, { ...shared, deliveries }, era),
    close: () =>
      Promise.race([host.close(), sleep(stopMs, undefined, { ref: false })]).catch(
        error => void logFault(log, 'close', error),
      ),
  }
}

/** One host for all calls. A failure to make it is not kept, so that what the user fixes is found. */
function onFirstUse(make: () => Promise<ToolHost>) {
  let made: Promise<ToolHost> | undefined
  return {
    async get() {
      made ??= make().catch(error => {
        made = undefined
        throw error
      })
      const host = await made
      return host.now ? host.now() : host
    },
    async close() {
      await (await made)?.close()
    },
  }
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`)
}
