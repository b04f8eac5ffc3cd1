import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Approvals } from '#wallet/approvals.ts'
import { proxyLimits } from '../proxy/bounds.ts'
import { lastAnswerMs } from './bounds.ts'
import { PageAnswers } from './page-answers.ts'

export interface ApprovalPage {
  /** Opens the page once, in the browser of whoever has it. */
  link: string
  /** Resolves when nothing waits for an answer any more. */
  answered: Promise<void>
  close(): Promise<void>
}

export interface ApprovalPageOptions {
  approvals: Approvals
  /** Who answers, as the approval's row tells it: `page, ada`. */
  by: string
}

/** Serves what waits for a person on a port of this machine, for the one browser that opens the link first. */
export async function openApprovalPage(options: ApprovalPageOptions): Promise<ApprovalPage> {
  const answers = new PageAnswers(options)
  const server = createAdaptorServer({
    fetch: request => answers.answer(request, portOf(server)),
    overrideGlobalObjects: false,
    serverOptions: {
      headersTimeout: proxyLimits.headersTimeoutMs,
      requestTimeout: proxyLimits.requestTimeoutMs,
      maxHeaderSize: proxyLimits.headerBytes,
    },
  }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    link: `http://127.0.0.1:${portOf(server)}/open/${answers.linkSecret}`,
    answered: answers.answered,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      // The last answer is on its way to the browser.
      const cut = setTimeout(() => server.closeAllConnections(), lastAnswerMs)
      await closed
      clearTimeout(cut)
    },
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port
