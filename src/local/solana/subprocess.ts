import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { LocalChainError } from '../chain/folder.ts'
import { askFacts, type ChainProgram } from '../chain/probe.ts'

/** The Solana chain: this very program, running litesvm in a process of its own. */
export const solana: ChainProgram = {
  name: 'the Solana chain',
  command(folder, port) {
    const problem = solanaProblem()
    if (problem) throw new LocalChainError(problem)
    return [process.execPath, fileURLToPath(solanaProcessUrl()), folder.state, String(port)]
  },
  portTaken: /EADDRINUSE/,
  async instanceOf(url) {
    const { instanceId } = await askFacts(url, 'farebox_chain')
    return typeof instanceId === 'string' ? instanceId : null
  },
}

/**
 * Why there can be no local Solana chain here, as a sentence; null where there can. litesvm is an optional package, and
 * its binary lies in another one for each platform, of which there is none for some.
 */
export function solanaProblem(
  resolve: (specifier: string, from: string) => string = (specifier, from) => createRequire(from).resolve(specifier),
  platform: string = process.platform,
  architecture: string = process.arch,
): string | null {
  let litesvm: string
  try {
    litesvm = resolve('litesvm', import.meta.url)
  } catch {
    return 'The package litesvm is not installed, so there is no local Solana chain; npm install litesvm brings it.'
  }
  const names = [
    `litesvm-${platform}-${architecture}`,
    `litesvm-${platform}-${architecture}-gnu`,
    `litesvm-${platform}-${architecture}-musl`,
  ]
  const isThere = names.some(name => {
    try {
      return resolve(name, litesvm) !== ''
    } catch {
      return false
    }
  })
  return isThere
    ? null
    : `litesvm has no binary for ${platform} on ${architecture} here, so there is no local Solana chain.`
}

/** What the bundle calls the file of that process; the build makes it an entry point beside the others. */
const bundledName = './solana-chain-process.js'

/** The one place that knows where the chain's process starts: its source in a checkout, a file of its own in the bundle. */
export const solanaProcessUrl = (): URL =>
  import.meta.url.endsWith('.ts') ? new URL('./process.ts', import.meta.url) : new URL(bundledName, import.meta.url)
