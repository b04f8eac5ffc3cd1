import type { Approvals } from '#wallet/approvals/approvals.ts'
import { openLoopbackServer } from '../loopback/loopback-server.ts'
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
  const server = await openLoopbackServer(0, (request, port) => answers.answer(request, port))
  return {
    link: `http://127.0.0.1:${server.port}/open/${answers.linkSecret}`,
    answered: answers.answered,
    // The last answer is on its way to the browser.
    close: () => server.close(lastAnswerMs),
  }
}
