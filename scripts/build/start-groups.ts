import type { OutputChunk } from 'rolldown'
import { processes, threads } from './entries.ts'

/** A command whose startup time matters, and what it always imports dynamically before it answers. */
interface Start {
  command: string
  imports: readonly string[]
}

const service = [
  'access/keys/server-secret.ts',
  'contract/wire/base-url.ts',
  'ledger/ledger-watch.ts',
  'ledger/store/open-store.ts',
  'ledger/store/sqlite/open.ts',
  'service/http/listener.ts',
  'service/running/open-service.ts',
  'service/running/running-service.ts',
]

/** A client waits only for `mcp`, and starts each session with it, so it gets the fewest files. */
const mcp: Start = { command: 'mcp', imports: [] }
const serve: Start = {
  command: 'serve',
  imports: [
    ...service,
    'payments/top-ups/top-up-offer.ts',
    'service/config/define-kind.ts',
    'service/config/open-beside-models.ts',
    'service/config/payment-config.ts',
    'service/config/read-config.ts',
  ],
}
const up: Start = {
  command: 'up',
  imports: [
    ...service,
    'cli/up/local-service.ts',
    'engines/chain/json-rpc-node.ts',
    'engines/demo/audio.ts',
    'engines/demo/chat.ts',
    'engines/demo/video.ts',
    'engines/demo/web.ts',
    'engines/local/transcription.ts',
    'host/media/ffmpeg.ts',
    'host/media/media-workers.ts',
    'local/chain/folder.ts',
    'local/evm/chain.ts',
    'local/keys.ts',
    'local/solana/chain.ts',
    'payments/rails/rails.ts',
    'payments/top-ups/top-up.ts',
    'service/capabilities/characters/characters.ts',
    'service/models/demo-models.ts',
  ],
}

const OF_A_PACKAGE = /[/\\]node_modules[/\\]/
const threadNames = new Set(Object.keys({ ...threads, ...processes }))

const groups = [
  ...['base', 'packages', 'shared', 'start'],
  ...['of-threads', 'of-entries', 'of-commands', 'of-service', 'of-queries'].flatMap(name => [
    `${name}-packages`,
    name,
  ]),
  ...['running', 'serving', 'trying'],
]

/** It reads what a service reads, and would place that, with its packages, before the servers' own code. */
const opensLedger = (name: string): boolean => name === 'operator-query-thread' || name === 'account-query-thread'

type Chunks = ReadonlySet<OutputChunk>

/**
 * Groups the modules that a start reads before it answers into a handful of chunks; otherwise there would be one chunk
 * for each set of entries that share something. Modules are grouped by which entries share them, so that no entry reads
 * much that it does not use. The most shared groups come first, because the bundler adds to a chunk everything that its
 * modules need and no earlier chunk has.
 */
export function startGroups(chunks: readonly OutputChunk[]): { name: string; test: (id: string) => boolean }[] {
  const graph = new Graph(chunks)
  const groupOf = new Map<OutputChunk, string>()
  for (const [chunk, group] of [...groupsOfMcp(graph), ...groupsOfServices(graph)])
    if (!groupOf.has(chunk)) groupOf.set(chunk, group)
  return groups.map(name => {
    const modules = new Set([...groupOf].flatMap(([{ moduleIds }, group]) => (group === name ? moduleIds : [])))
    return { name, test: id => modules.has(id) }
  })
}

/**
 * `base`: what an entry also reads at startup. `shared`: what others read too, without the larger packages below.
 * `start`: what no other entry reads.
 */
function groupsOfMcp(graph: Graph): [OutputChunk, string][] {
  const [start] = graph.rootsOf(mcp)
  const atEntries = graph.readFrom(graph.entries)
  const byOthers = graph.readFrom(graph.entries, ({ imports, dynamicImports }) =>
    [...imports, ...dynamicImports].filter(name => name !== start?.fileName),
  )
  const group = (chunk: OutputChunk): string => {
    if (atEntries.has(chunk)) return 'base'
    if (!byOthers.has(chunk)) return 'start'
    return isOfPackage(chunk) ? 'packages' : 'shared'
  }
  return [...graph.startOf(mcp)].map(chunk => [chunk, group(chunk)])
}

/** Groups the modules that `serve` and `up` read, from the most shared to those that only one of them reads. */
function groupsOfServices(graph: Graph): [OutputChunk, string][] {
  const [byServe, byUp] = [graph.startOf(serve), graph.startOf(up)]
  const ofEntries = (is: (name: string) => boolean): Chunks =>
    graph.readFrom(graph.entries.filter(({ name }) => is(name)))
  const byPackageEntries = ofEntries(name => name !== 'service' && name !== 'cli' && !threadNames.has(name))
  const commands = graph.commands.filter(chunk => !graph.rootsOf(serve).concat(graph.rootsOf(up)).includes(chunk))
  const readers: [group: string, by: Chunks][] = [
    ['of-threads', ofEntries(name => threadNames.has(name) && !opensLedger(name))],
    ['of-entries', byPackageEntries],
    ['of-commands', graph.readFrom(commands)],
    ['of-service', ofEntries(name => name === 'service')],
    ['of-queries', ofEntries(opensLedger)],
  ]
  const group = (chunk: OutputChunk): string => {
    const shared = readers.find(([, by]) => by.has(chunk))?.[0]
    if (shared) return isOfPackage(chunk) ? `${shared}-packages` : shared
    return byServe.has(chunk) && byUp.has(chunk) ? 'running' : byServe.has(chunk) ? 'serving' : 'trying'
  }
  return [...new Set([...byServe, ...byUp])].map(chunk => [chunk, group(chunk)])
}

const isOfPackage = ({ moduleIds }: OutputChunk): boolean => moduleIds.some(id => OF_A_PACKAGE.test(id))

/** Which chunks import which. */
class Graph {
  readonly entries: readonly OutputChunk[]
  readonly #chunks: readonly OutputChunk[]
  readonly #byName: ReadonlyMap<string, OutputChunk>

  constructor(chunks: readonly OutputChunk[]) {
    this.#chunks = chunks
    this.#byName = new Map(chunks.map(chunk => [chunk.fileName, chunk]))
    this.entries = chunks.filter(({ isEntry }) => isEntry)
  }

  /** Returns everything that is read as a consequence of reading these chunks. */
  readFrom(
    from: readonly OutputChunk[],
    next: (chunk: OutputChunk) => readonly string[] = ({ imports }) => imports,
  ): Chunks {
    const read = new Set(from)
    for (const chunk of read) {
      // Names that are not in the bundle are not chunks. Iterating over a set includes items that are added meanwhile.
      for (const name of next(chunk)) {
        const led = this.#byName.get(name)
        if (led) read.add(led)
      }
    }
    return read
  }

  startOf(start: Start): Chunks {
    return this.readFrom(this.rootsOf(start))
  }

  rootsOf({ command, imports }: Start): OutputChunk[] {
    return [`cli/commands/${command}.ts`, ...imports].map(path => this.#holderOf(`src/${path}`))
  }

  get commands(): OutputChunk[] {
    return this.#chunks.filter(({ facadeModuleId }) => /[/\\]src[/\\]cli[/\\]commands[/\\]/.test(facadeModuleId ?? ''))
  }

  #holderOf(path: string): OutputChunk {
    const holder = this.#chunks.find(({ moduleIds }) =>
      moduleIds.some(id => id.replaceAll('\\', '/').endsWith(`/${path}`)),
    )
    if (!holder) throw new Error(`No chunk of the bundle contains ${path}: correct the list of starts.`)
    return holder
  }
}
