import { createRequire } from 'node:module'
import { type ChainFolder, LocalChainError } from '../chain/folder.ts'
import { askFacts, type ChainProgram } from '../chain/process.ts'
import { KEPT_STATES, REST_BLOCK_INTERVAL_S, STATE_INTERVAL_S } from '../limits.ts'

export const LOCAL_CHAIN_ID = 8453

/** The EVM chain. */
export const anvil: ChainProgram = {
  name: 'anvil',
  command: (folder, port) => [findAnvilBinary(), ...anvilArguments(folder, port)],
  portTaken: /address already in use|os error (98|48|10048)/i,
  async instanceOf(url) {
    const { chainId, instanceId } = await askFacts(url, 'anvil_metadata')
    return chainId === LOCAL_CHAIN_ID && typeof instanceId === 'string' ? instanceId : null
  },
}

function anvilArguments(folder: ChainFolder, port: number): string[] {
  return [
    ['--host', '127.0.0.1', '--port', String(port), '--no-cors'],
    ['--chain-id', String(LOCAL_CHAIN_ID), '--accounts', '0', '--quiet'],
    ['--state', folder.state, '--state-interval', String(STATE_INTERVAL_S)],
    ['--prune-history', String(KEPT_STATES), '--cache-path', folder.path],
    ['--mixed-mining', '--block-time', String(REST_BLOCK_INTERVAL_S)],
  ].flat()
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Whether the package with which `findAnvilBinary` begins is installed. */
export function isAnvilInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    return true
  } catch {
    return false
  }
}

/** Returns the path of anvil's binary, which is in a separate package for each platform. Throws `LocalChainError`. */
export function findAnvilBinary(
  resolve: (specifier: string, from: string) => string = (specifier, from) => createRequire(from).resolve(specifier),
  platform: string = process.platform,
  architecture: string = process.arch,
): string {
  const file = platform === 'win32' ? 'anvil.exe' : 'anvil'
  const name = `@foundry-rs/anvil-${platform}-${ARCHITECTURES[architecture] ?? architecture}`
  let anvil: string
  try {
    anvil = resolve('@foundry-rs/anvil/package.json', import.meta.url)
  } catch (cause) {
    throw new LocalChainError(
      'The local chain needs the package @foundry-rs/anvil, which is not installed; run npm install @foundry-rs/anvil.',
      { cause },
    )
  }
  try {
    return resolve(`${name}/bin/${file}`, anvil)
  } catch (cause) {
    throw new LocalChainError(
      `The local chain needs the package ${name}, which is not installed; run npm install without --omit=optional on a platform that anvil supports.`,
      { cause },
    )
  }
}
