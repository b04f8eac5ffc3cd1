/**
 * Imports a package that only some engines need, typed as the part that they use. The name is not a literal, so that
 * neither types nor bundle require a package that may be missing. Throws a sentence that says what to install.
 */
export async function optionalPackage<Module>(name: string, neededFor: string): Promise<Module> {
  try {
    return (await import(name)) as Module
  } catch (error) {
    throw new Error(`${neededFor} needs the package ${name}, which does not load: npm install ${packageOf(name)}`, {
      cause: error,
    })
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
