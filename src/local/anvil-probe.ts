import type { AnvilRecord } from './anvil-record.ts'
import { askChain, isRefusedConnection } from './json-rpc.ts'

export const LOCAL_CHAIN_ID = 8453

export const loopbackUrl = (port: number): string => `http://127.0.0.1:${port}`

/** `gone`: nothing listens, or it is not the recorded chain. `silent`: something listens and does not answer. */
export type Probe = { is: 'ours'; instanceId: string } | { is: 'gone' } | { is: 'silent' }

/**
 * Asks whether the recorded chain runs. A port may have gone to another program since, so the chain id and the id that
 * anvil drew at its start must match.
 */
export async function probeAnvil({ port, instanceId }: AnvilRecord): Promise<Probe> {
  try {
    const metadata = (await askChain(loopbackUrl(port), 'anvil_metadata')) as {
      chainId?: unknown
      instanceId?: unknown
    } | null
    if (metadata?.chainId !== LOCAL_CHAIN_ID || typeof metadata.instanceId !== 'string') return { is: 'gone' }
    if (instanceId !== null && instanceId !== metadata.instanceId) return { is: 'gone' }
    return { is: 'ours', instanceId: metadata.instanceId }
  } catch (error) {
    if (isRefusedConnection(error)) return { is: 'gone' }
    return { is: error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'gone' }
  }
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
