import { findAnvilBinary } from './anvil-binary.ts'
import type { ChainFolder } from './chain-folder.ts'
import { askFacts, type ChainProgram } from './chain-program.ts'
import { KEPT_STATES, REST_BLOCK_INTERVAL_S, STATE_INTERVAL_S } from './limits.ts'

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
