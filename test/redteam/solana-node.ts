import { json } from 'node:stream/consumers'
import { localServer } from '../local-server.ts'
import { rails } from './rails.ts'

/** All that the wallet has to ask before it signs for Solana: until when a transfer lives. It knows of no accounts. */
const results: Readonly<Record<string, unknown>> = {
  // Any 32 bytes are one.
  getLatestBlockhash: { value: { blockhash: rails.svm.extra.feePayer, lastValidBlockHeight: 1_000 } },
  getAccountInfo: { value: null },
}

/** An honest node on loopback: nodes are believed, so that none of them is an attacker here. */
export async function solanaNode() {
  const server = await localServer(async (request, response) => {
    const { id, method } = (await json(request)) as { id: number; method: string }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? null }))
  })
  return {
    url: server.url,
    close: server.close,
  }
}
