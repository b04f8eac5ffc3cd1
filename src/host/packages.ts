import { findPackageJSON } from 'node:module'

/** An optional package is not installed, or does not load. The message says what to install. */
export class PackageMissing extends Error {
  override readonly name = 'PackageMissing'
}

/**
 * Imports a package that only some engines need, typed as the part that they use. The name is not a literal, so that
 * neither types nor bundle require a package that may be missing. Throws `PackageMissing`.
 */
export async function optionalPackage<Module>(name: string, neededFor: string): Promise<Module> {
  try {
    return (await import(name)) as Module
  } catch (error) {
    const problem = `${neededFor} needs the package ${name}, which does not load. Run \`npm install ${packageOf(name)}\`.`
    throw new PackageMissing(problem, { cause: error })
  }
}

/** Whether a package is installed. Does not load it, because some take seconds. */
export function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch {
    return false
  }
}

/** `defuddle/node` is an entry point of `defuddle`. */
const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

/** Loads a shared value once, on first use; after a failure the next use tries again. */
export function onceLoaded<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | null = null
  return () => {
    loaded ??= load().catch(error => {
      loaded = null
      throw error
    })
    return loaded
  }
}
