/**
 * A package that only some engines need, as the part of it that they use. The name is no literal to the compiler, so
 * that neither types nor bundle ask for a package that is not there. Throws a sentence that says what to install.
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

/** `defuddle/node` is a door of `defuddle`. */
const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

/** Loads a shared value once, on first use; a failure is retried by the next use. */
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
