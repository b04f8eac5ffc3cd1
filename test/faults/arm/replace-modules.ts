import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'

const source = new URL('../../../src/', import.meta.url).href

/** A file of the product below `src/`, and the one beside the caller that wraps it. */
export type Replacement = readonly [real: string, armed: string]

/** From now on, an import of the product's file gets the wrapper; files in `folder` get the real one. */
export function replaceModules(folder: string, replacements: readonly Replacement[]): void {
  const given = new Map(replacements.map(([real, armed]) => [`${source}${real}`, `${folder}${armed}`]))
  for (const real of given.keys()) {
    if (!existsSync(new URL(real))) throw new Error(`The harness replaces ${real}, which does not exist.`)
  }
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      if (context.parentURL?.startsWith(folder)) return resolved
      const url = given.get(resolved.url)
      return url ? { ...resolved, url } : resolved
    },
  })
}
