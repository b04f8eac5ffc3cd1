import type { ServerResponse } from 'node:http'
import { localServer } from '../local-server.ts'

export interface SvmGate {
  url: string
  /** Every connection breaks. */
  isDown: boolean
  /**
   * A transaction reaches the chain and the answer is lost, or is lost on its way; or its connection breaks, and a node
   * that does not know the blockhash yet answers whoever sends it again.
   */
  sends: 'pass' | 'lose-answer' | 'lose' | 'lose-then-refuse'
  /** Changes what the node answers; undefined leaves it. */
  spoil: ((method: string, params: readonly unknown[], result: unknown) => unknown) | null
  /** Methods that were asked, in their order, and what the sent transactions were. */
  asked: string[]
  sent: string[]
  close(): Promise<void>
}

/** Stands before a Solana node and spoils what a test wants spoiled. */
export async function openSvmGate(nodeUrl: string): Promise<SvmGate> {
  const server = await localServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { method, params } = JSON.parse(body.toString())
    gate.asked.push(method)
    const isSend = method === 'sendTransaction'
    if (isSend) gate.sent.push(params[0])
    const isFirst = gate.sent.length === 1
    const isLost = gate.sends === 'lose' || (gate.sends === 'lose-then-refuse' && isFirst)
    if (gate.isDown || (isLost && isSend)) return breakOff(response)
    if (gate.sends === 'lose-then-refuse' && isSend) return void response.end(JSON.stringify(blockhashNotFound))
    const answer = await fetch(nodeUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const said = JSON.parse(await answer.text())
    if (gate.sends === 'lose-answer' && isSend) return breakOff(response)
    const spoilt = gate.spoil?.(method, params, said.result)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(spoilt === undefined ? said : { jsonrpc: '2.0', id: said.id, result: spoilt }))
  })
  const gate: SvmGate = {
    url: server.url,
    isDown: false,
    sends: 'pass',
    spoil: null,
    asked: [],
    sent: [],
    close: server.close,
  }
  return gate
}

/** What a node answers that is behind the one which told the blockhash. */
const blockhashNotFound = {
  jsonrpc: '2.0',
  id: 1,
  error: {
    code: -32002,
    message: 'Transaction simulation failed: Blockhash not found',
    data: { err: 'BlockhashNotFound', logs: [] },
  },
}

const breakOff = (response: ServerResponse) => void response.socket?.destroy()
