import type { OutputChunk } from 'rolldown'

/** A client waits for this command alone, and begins each session with it. */
const START = /[/\\]src[/\\]cli[/\\]commands[/\\]mcp\.ts$/
const OF_A_PACKAGE = /[/\\]node_modules[/\\]/

/**
 * The chunk for each module that `farebox mcp` reads before it answers, by the module's id: a handful of files, where there
 * would be one for each set of entries that share something. Other entries and commands read what they need of them and
 * little else: `base` is what an entry reads at its start, too; `shared` what others come to read, without the packages
 * below it, which weigh more; `start` what nobody else reads.
 */
export function startGroups(chunks: readonly OutputChunk[]): ReadonlyMap<string, string> {
  const byName = new Map(chunks.map(chunk => [chunk.fileName, chunk]))
  const start = chunks.find(({ facadeModuleId }) => START.test(facadeModuleId ?? ''))
  if (!start) throw new Error('The bundle has no chunk for src/cli/commands/mcp.ts: name the command of a start.')
  const entries = chunks.filter(({ isEntry }) => isEntry)
  const atEntries = readFrom(entries, ({ imports }) => imports)
  const byOthers = readFrom(entries, ({ imports, dynamicImports }) =>
    [...imports, ...dynamicImports].filter(name => name !== start.fileName),
  )
  const group = (chunk: OutputChunk): string => {
    if (atEntries.has(chunk)) return 'base'
    if (!byOthers.has(chunk)) return 'start'
    return chunk.moduleIds.some(id => OF_A_PACKAGE.test(id)) ? 'packages' : 'shared'
  }
  const together = readFrom([start], ({ imports }) => imports)
  return new Map([...together].flatMap(chunk => chunk.moduleIds.map(id => [id, group(chunk)] as const)))

  /** All that reading these leads to. */
  function readFrom(from: readonly OutputChunk[], next: (chunk: OutputChunk) => readonly string[]): Set<OutputChunk> {
    const read = new Set(from)
    for (const chunk of read) {
      // What lies outside of the bundle is no chunk. A set also hands out what is added while it is gone through.
      for (const name of next(chunk)) {
        const led = byName.get(name)
        if (led) read.add(led)
      }
    }
    return read
  }
}
