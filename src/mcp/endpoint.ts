import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '@modelcontextprotocol/server'
import { type Clock, systemClock } from '#contract/time.ts'
import type { Catalogue } from '#toolkit/define.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { stopMs } from './bounds.ts'
import { SentForms } from './client/client-media.ts'
import { CallProgress } from './client/progress.ts'
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

/** What a process serves, over any transport. */
export interface EndpointOptions {
  name: string
  version: string
  /** Called at the first tool call; called again if it failed. */
  host: () => Promise<ToolHost>
  catalogue: Catalogue
  /** The catalogue as clients see it; ours by default. */
  listing?: Listing
  /** Names of the tools or sets to serve; the default tools if absent. An unknown name throws. */
  tools?: readonly string[] | undefined
  /** At least 32 bytes, which sign the state that the client keeps until the user has answered. Random by default. */
  stateKey?: Uint8Array
  clock?: Clock
  log?: LogLine
}

/** One host and one listing, shared by all connections of a process. */
export interface Endpoint {
  calls: CallsInFlight
  clock: Clock
  log: LogLine
  /** Creates a server for one connection, or for one exchange if the transport has no connections. */
  serverFor(deliveries: Pick<Deliveries, 'expect' | 'forget'>, era: Era): Server
  /** Closes the host. Never rejects, and is bounded in time. */
  close(): Promise<void>
}

export function openEndpoint({ name, version, catalogue, stateKey, ...rest }: EndpointOptions): Endpoint {
  const { clock = systemClock, log = toStderr } = rest
  const chosen = chooseTools(rest.listing ?? ownListing, rest.tools)
  const host = onFirstUse(rest.host)
  const calls = callsInFlight()
  const choices = new KnownChoices(clock)
  const asking = { choices, forms: new SentForms(), progress: new CallProgress(clock) }
  const shared = { catalogue, host: host.get, states: stateCodec(stateKey), ...asking, calls, clock, log }
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

/** Creates one host for all calls. A failure is not cached, so that the next call notices what the user fixed. */
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
