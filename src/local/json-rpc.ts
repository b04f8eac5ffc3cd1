import { CHAIN_RPC_TIMEOUT_MS } from './limits.ts'

/** Asks a chain on loopback. Rejects with the socket's error, a `TimeoutError`, or an error with the chain's own words. */
export async function askChain(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(CHAIN_RPC_TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message?: unknown } } | null
  if (answer === null || typeof answer !== 'object' || answer.error) {
    throw new Error(`${method} was refused: ${String(answer?.error?.message ?? 'no JSON-RPC answer')}`)
  }
  return answer.result
}

/** True where nothing listens any more, as opposed to a chain that is slow or broken. */
export function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  return cause?.code === 'ECONNREFUSED' || cause?.code === 'ECONNRESET' || cause?.code === 'UND_ERR_SOCKET'
}
