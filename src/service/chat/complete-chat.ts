import type { ChatCompletion } from '#contract/chat.ts'
import { balanceRemaining } from '#contract/headers.ts'
import { toUsdNumber } from '#contract/money.ts'
import { type Call, type JsonReply, json } from '../call.ts'
import { withCharge } from '../ledger/charges.ts'
import type { Service } from '../service.ts'
import { type ChatPlan, engineCall } from './chat-plan.ts'
import { billedLines, usageOfCompletion } from './chat-usage.ts'
import { stripThinking } from './strip-thinking.ts'

/** One whole answer: the engine's, with our model id, our options and what it cost. */
export async function completeChat(call: Call, plan: ChatPlan, service: Service): Promise<JsonReply> {
  const { value, charged } = await withCharge(service.charges, plan.order, async () => {
    const completion = await plan.model.engine.complete(engineCall(plan, call.signal))
    const usage = usageOfCompletion(plan.request, completion)
    return { value: { completion, usage }, lines: billedLines(plan, usage) }
  })
  call.tokensUsed(value.usage.total_tokens)
  if (call.principal?.kind === 'wallet' && charged.availableMicroUsd !== null) {
    call.set(balanceRemaining, charged.availableMicroUsd)
  }
  return json({
    ...value.completion,
    model: plan.model.id,
    choices:
      plan.options.echo.strip_thinking_response || plan.options.echo.disable_thinking
        ? value.completion.choices.map(stripped)
        : value.completion.choices,
    usage: value.usage,
    cost: { usd: toUsdNumber(charged.chargedMicroUsd), diem: 0 },
    service_parameters: plan.options.echo,
  })
}

type Choice = ChatCompletion['choices'][number]

function stripped(choice: Choice): Choice {
  const { content } = choice.message
  if (typeof content !== 'string') return choice
  return { ...choice, message: { ...choice.message, content: stripThinking(content) } }
}
