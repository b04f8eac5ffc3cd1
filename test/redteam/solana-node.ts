import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { rails } from './rails.ts'

/** All that the wallet has to ask before it signs for Solana: until when a transfer lives. It knows of no accounts. */
const results: Readonly<Record<string, unknown>> = {
  // Any 32 bytes are one.
  getLatestBlockhash: { value: { blockhash: rails.svm.extra.feePayer, lastValidBlockHeight: 1_000 } },
  getAccountInfo: { value: null },
}

/** An honest node on loopback: nodes are believed, so that none of them is an attacker here. */
export async function solanaNode() {
  const server = createServer(async (request, response) => {
    const { id, method } = (await json(request)) as { id: number; method: string }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? null }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
