import type { ChatCompletion } from '#contract/chat.ts'
import type { TokenUsage } from '#contract/chat-completion.ts'
import { boundedWait } from '../bounded-wait.ts'
import { type Call, type JsonReply, json } from '../call.ts'
import { type Cost, printedCost } from '../ledger/charge.ts'
import { withCharge } from '../ledger/charges.ts'
import { tellRemaining } from '../sell.ts'
import type { Service } from '../service.ts'
import { type ChatPlan, engineCall } from './chat-plan.ts'
import { usageLines, usageOfCompletion } from './chat-usage.ts'
import { stripThinking } from './strip-thinking.ts'

interface Completed {
  completion: ChatCompletion
  usage: TokenUsage
}

/** One whole answer: the engine's, with our model id, our options and what it cost. */
export async function completeChat(call: Call, plan: ChatPlan, service: Service): Promise<JsonReply> {
  const { value, charged } = await withCharge(service.charges, plan.order, async () => {
    // Of an answer whose reader has left nothing can be delivered, so nothing is sold.
    const { signal } = call
    const completion = await boundedWait(plan.model.engine.complete({ ...engineCall(plan), signal }), { signal })
    signal.throwIfAborted()
    const counted = usageOfCompletion(plan.request, completion)
    const value = { completion, usage: counted.usage }
    const alsoCommit = (cost: Cost) => call.keep(() => replyOf(plan, value, cost))
    return { value, lines: usageLines(plan, counted), alsoCommit }
  })
  call.tokensUsed(value.usage.total_tokens)
  tellRemaining(call, charged.availableMicroUsd)
  return replyOf(plan, value, charged)
}

function replyOf({ model, options }: ChatPlan, { completion, usage }: Completed, cost: Cost): JsonReply {
  const { echo } = options
  const strips = echo.strip_thinking_response || echo.disable_thinking
  return json({
    ...completion,
    model: model.id,
    choices: strips ? completion.choices.map(stripped) : completion.choices,
    usage,
    cost: printedCost(cost),
    service_parameters: echo,
  })
}

type Choice = ChatCompletion['choices'][number]

function stripped(choice: Choice): Choice {
  const { content } = choice.message
  if (typeof content !== 'string') return choice
  return { ...choice, message: { ...choice.message, content: stripThinking(content) } }
}
