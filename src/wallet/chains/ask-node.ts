import { z } from 'zod'
import { nodeAnswerBytes, nodeTimeoutMs } from '../limits.ts'
import { WalletRefusal } from '../terms/refusal.ts'

const Answer = z.object({ result: z.unknown().optional(), error: z.unknown().optional() })

/** One question over JSON-RPC. Nothing that a node says decides who is paid, or how much. Throws a refusal. */
export async function askNode<Result>(
  url: string,
  method: string,
  params: readonly unknown[],
  result: z.ZodType<Result>,
  timeoutMs: number = nodeTimeoutMs,
): Promise<Result> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return result.parse(Answer.parse(JSON.parse(await readText(response))).result)
  } catch {
    // Without its cause: an error of the connection names the address.
    throw new WalletRefusal({
      rule: 'node',
      sentence: `The node of the chain did not answer ${method}.`,
      nextStep:
        'Nothing was signed; try again, or let the person look at FAREBOX_SOLANA_RPC_URL and FAREBOX_EVM_RPC_URL.',
    })
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > nodeAnswerBytes) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
