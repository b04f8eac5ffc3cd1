import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answer, type Behaviour, behave, type Settling } from './behaviours.ts'
import type { Settler, WireQuestion } from './settler.ts'

export type Settle = (settling: Settling) => Promise<void>

export interface HostileFacilitator {
  url: string
  /** What comes of the next questions to settle. */
  settle: Settle
  /** Methods and paths that were asked, in their order, and the headers that came with them. */
  asked: { path: string; headers: IncomingMessage['headers'] }[]
  /** In place of an honest check. */
  verdict: object | null
  /** Resolves when everything that was accepted has been settled or has failed. */
  quiet(): Promise<void>
  close(): Promise<void>
}

/** A facilitator on a socket that checks honestly, settles for real, and says what its behaviour lets it say. */
export async function openHostileFacilitator(
  settler: Settler,
  behaviour: Behaviour,
  lateMs: number,
): Promise<HostileFacilitator> {
  const seen = new Map<string, number>()
  const running = new Set<Promise<void>>()
  const server = createServer((request, response) => {
    const work = serve(request, response).catch(() => void response.socket?.destroy())
    running.add(work)
    void work.finally(() => running.delete(work))
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = `${request.method} ${request.url}`
    facilitator.asked.push({ path, headers: request.headers })
    if (path === 'GET /supported') return answer(response, 200, { kinds: settler.kinds(), extensions: [], signers: {} })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const question = JSON.parse(Buffer.concat(chunks).toString()) as WireQuestion
    if (path === 'POST /verify') return answer(response, 200, facilitator.verdict ?? (await settler.verify(question)))
    const key = JSON.stringify(question.paymentPayload.payload)
    const before = seen.get(key) ?? 0
    seen.set(key, before + 1)
    await facilitator.settle({ settler, question, response, before, lateMs })
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const facilitator: HostileFacilitator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    settle: behave[behaviour],
    asked: [],
    verdict: null,
    async quiet() {
      while (running.size > 0) await Promise.allSettled(running)
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await facilitator.quiet()
    },
  }
  return facilitator
}
