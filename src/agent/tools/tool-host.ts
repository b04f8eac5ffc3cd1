import { isYes } from '#toolkit/approval.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import type { AgentDesks } from '../agent-desks.ts'
import { answerKept } from '../words/answer-kept.ts'
import { Tasks } from './tasks.ts'
import { toolContext } from './tool-context.ts'

/** Who answers a question in an assistant's own dialogue, as the approval's row tells it. */
const inDialogue = "in the assistant's dialogue"

/** What a frame needs to serve the tools. */
export const toolHost = (desks: AgentDesks): ToolHost => ({
  context: invocation => toolContext(desks, invocation),
  async answer(approvalId, answer) {
    const signal = new AbortController().signal
    const { core } = desks
    const answered = await desks.worded(false, signal, () =>
      core.approvals.resolve(approvalId, { isApproved: isYes(answer), by: inDialogue }),
    )
    return answerKept(answered, core)
  },
  tasks: new Tasks(desks),
  close: () => desks.close(),
})
