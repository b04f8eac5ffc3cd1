import type { ServerResponse } from 'node:http'
import { toHex } from 'viem'
import { localServer } from '../local-server.ts'

export type GateMode =
  | 'open'
  /** Every connection breaks. */
  | 'down'
  /** A transaction reaches the chain, and the answer is lost. */
  | 'lose-sends'
  /** A transaction reaches the chain twice, as a proxy that lost an answer sends it, and the second answer is told. */
  | 'repeat-sends'
  /** The first reaches the chain, its number is then reported as taken, and the node that is asked for it has not seen it yet. */
  | 'taken-sends'
  /** A transaction is lost on its way. */
  | 'drop-sends'
  /** Knows only what every node knows, and estimates without what waits for a block, as most nodes do. */
  | 'plain'
  /** Its blocks have ten times the fee, as after a rush. */
  | 'dear'
  /** Each receipt has a fee of the chain below, `rollupFee`. */
  | 'rollup'
  /** Has the events of a block, and not the receipts yet, as one of several nodes behind an address may. */
  | 'no-receipts'

export interface RpcGate {
  url: string
  mode: GateMode
  /** Methods that were asked, in their order. */
  asked: string[]
  close(): Promise<void>
}

/** Stands before a node and spoils what a test wants spoiled. */
export async function openRpcGate(nodeUrl: string): Promise<RpcGate> {
  const server = await localServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const asked = JSON.parse(Buffer.concat(chunks).toString())
    if (gate.mode === 'plain' && asked.method === 'eth_estimateGas') asked.params[1] ??= 'latest'
    const body = JSON.stringify(asked)
    const isSend = asked.method === 'eth_sendRawTransaction'
    gate.asked.push(asked.method)
    if (gate.mode === 'down' || (gate.mode === 'drop-sends' && isSend)) return breakOff(response)
    if (gate.mode === 'plain' && asked.method === 'eth_fillTransaction') {
      const error = { code: -32601, message: `the method ${asked.method} does not exist` }
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }))
    }
    if (gate.mode === 'no-receipts' && asked.method === 'eth_getTransactionReceipt') {
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: null }))
    }
    const sends = gate.asked.filter(method => method === 'eth_sendRawTransaction').length
    if (gate.mode === 'taken-sends' && asked.method === 'eth_getTransactionByHash') {
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: null }))
    }
    const forward = () => fetch(nodeUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    if (gate.mode === 'repeat-sends' && isSend) await forward()
    if (gate.mode === 'taken-sends' && isSend && sends === 1) {
      await forward()
      const error = { code: -32000, message: 'nonce too low' }
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }))
    }
    const answer = await forward()
    if (gate.mode === 'lose-sends' && isSend) return breakOff(response)
    const told = await answer.text()
    response.setHeader('content-type', 'application/json').end(changed(told, gate.mode))
  })
  const gate: RpcGate = {
    url: server.url,
    mode: 'open',
    asked: [],
    close: server.close,
  }
  return gate
}

export const rollupFee = 10n ** 17n

function changed(answer: string, mode: GateMode): string {
  if (mode === 'rollup') return answer.replace('"effectiveGasPrice":', `"l1Fee":"${toHex(rollupFee)}",$&`)
  if (mode !== 'dear') return answer
  return answer.replace(/("baseFeePerGas":)"(0x[0-9a-f]+)"/, (_, name, fee) => `${name}"${toHex(10n * BigInt(fee))}"`)
}

const breakOff = (response: ServerResponse) => void response.socket?.destroy()
