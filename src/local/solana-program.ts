import { fileURLToPath } from 'node:url'
import { askFacts, type ChainProgram } from './chain-program.ts'
import { solanaProblem } from './find-litesvm.ts'
import { LocalChainError } from './local-chain-error.ts'
import { solanaProcessUrl } from './solana-process-url.ts'

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
