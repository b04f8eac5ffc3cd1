import type { OutputChunk } from 'rolldown'

/** The chunks that importing the chunk of this source, told by the end of its path, reads. */
export function readBy(chunks: readonly OutputChunk[], source: string): OutputChunk[] {
  const byName = new Map(chunks.map(chunk => [chunk.fileName, chunk]))
  const first = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(`/${source}`))
  if (!first) throw new Error(`No chunk is imported for ${source}.`)
  const read = new Set([first])
  for (const { imports } of read) {
    for (const name of imports) {
      const led = byName.get(name)
      if (led) read.add(led)
    }
  }
  return [...read]
}

/** The names of the packages that these chunks hold something of. */
export function packagesOf(read: readonly OutputChunk[]): string[] {
  const paths = read.flatMap(({ moduleIds }) => moduleIds)
  const names = paths.flatMap(path => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].sort()
}
