import { createHash } from 'node:crypto'
import type { EngineSurroundings } from './engine-kind.ts'

/** The same engine for the same upstream over a reload, until one of these options changes; they are plain JSON. */
export function keptByOptions<Engine>(
  kind: string,
  options: object,
  { keep, model, upstream }: EngineSurroundings,
  make: () => Engine,
): Engine {
  // As a digest: a server's key belongs in no name, and a workflow may have megabytes.
  const digest = createHash('sha256')
    .update(JSON.stringify([options, model, upstream]))
    .digest('hex')
  return keep(`${kind} ${digest}`, make)
}
