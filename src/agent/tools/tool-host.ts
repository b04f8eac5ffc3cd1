import { isYes } from '#toolkit/say-question.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import type { AgentDesks } from '../agent-desks.ts'
import { Tasks } from './tasks.ts'
import { toolContext } from './tool-context.ts'

/** Who answers a question in an assistant's own dialogue, as the approval's row tells it. */
const inDialogue = "in the assistant's dialogue"

/** What a frame needs to serve the tools. */
export const toolHost = (desks: AgentDesks): ToolHost => ({
  context: invocation => toolContext(desks, invocation),
  async answer(approvalId, answer) {
    const signal = new AbortController().signal
    await desks.worded(false, signal, async () =>
      desks.core.approvals.resolve(approvalId, { isApproved: isYes(answer), by: inDialogue }),
    )
  },
  tasks: new Tasks(desks),
  close: () => desks.close(),
})
