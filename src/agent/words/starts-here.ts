import { createRequire } from 'node:module'

type Resolve = (specifier: string) => string

/** What to do where no service answers: `farebox up` is named only where its chain is installed, which a bundle lacks. */
export function howToHaveService(resolve: Resolve = createRequire(import.meta.url).resolve): string {
  const named = 'set FAREBOX_BASE_URL in the settings of this server to the address of a service'
  return startsHere(resolve) ? `${named}, or start one on this machine by \`farebox up\`` : named
}

/** Looked for on the disk alone: nothing is loaded. */
function startsHere(resolve: Resolve): boolean {
  try {
    resolve('@foundry-rs/anvil/package.json')
    return true
  } catch {
    return false
  }
}
