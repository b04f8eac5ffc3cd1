import type { ChainFolder } from './chain-folder.ts'
import type { ChainRecord } from './chain-record.ts'
import { askChain, isRefusedConnection } from './json-rpc.ts'

/** A program that is a local chain: a process of its own, which outlives the one that starts it. */
export interface ChainProgram {
  /** As sentences call it. */
  name: string
  /** The program and its arguments. Throws `LocalChainError` where it is not installed. */
  command(folder: ChainFolder, port: number): [file: string, ...args: string[]]
  /** What it writes into its log when another program has the port. */
  portTaken: RegExp
  /** The id that the chain drew at its start, asked of whatever listens there; null where that is another program. */
  instanceOf(url: string): Promise<string | null>
}

export const loopbackUrl = (port: number): string => `http://127.0.0.1:${port}`

/** `gone`: nothing listens, or it is not the recorded chain. `silent`: something listens and does not answer. */
export type Probe = { is: 'ours'; instanceId: string } | { is: 'gone' } | { is: 'silent' }

/** Asks whether the recorded chain runs. A port may have gone to another program since, so its id must match. */
export async function probeChain(program: ChainProgram, { port, instanceId }: ChainRecord): Promise<Probe> {
  try {
    const found = await program.instanceOf(loopbackUrl(port))
    if (found === null || (instanceId !== null && instanceId !== found)) return { is: 'gone' }
    return { is: 'ours', instanceId: found }
  } catch (error) {
    if (isRefusedConnection(error)) return { is: 'gone' }
    return { is: error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'gone' }
  }
}

/** Members of a chain's answer about itself. */
export async function askFacts(url: string, method: string): Promise<Readonly<Record<string, unknown>>> {
  const facts = await askChain(url, method)
  return typeof facts === 'object' && facts !== null ? (facts as Record<string, unknown>) : {}
}

/** True also for a process of somebody else that has got the number since. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
