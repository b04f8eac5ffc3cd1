import { displayUsd, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Tool } from '#toolkit/define.ts'
import { explainRefusal } from '#toolkit/input/explain-refusal.ts'
import { readArguments } from '#toolkit/input/read-arguments.ts'
import { sayRefusedArguments } from '#toolkit/run-tool.ts'
import type { Estimate, ToolContext } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { decideCall } from '#wallet/rules/decide.ts'
import { isStopped } from '#wallet/rules/stop-switch.ts'
import type { AgentContext } from '../context.ts'
import { cannotPay } from '../words/explain.ts'
import { checkChoices } from './check-choices.ts'
import type { ModelRecords } from './model-records.ts'
import { priceCall } from './price-call.ts'
import type { PricedCall } from './priced-call.ts'

type PricingAgent = AgentContext & { models: ModelRecords }

interface Estimating {
  tool: Tool
  given: unknown
  /** Turns the service's errors during an estimate into sentences. */
  worded: <Result>(run: () => Promise<Result>) => Promise<Result>
}

/**
 * Returns the maximum price of a tool's call. The tool runs until its first paid request, which is priced and not sent.
 * Free requests before it are made, and its files are read.
 */
export async function estimateCall(
  agent: PricingAgent,
  context: ToolContext,
  { tool, given, worded }: Estimating,
): Promise<Estimate> {
  if (!('charged_usd' in tool.output.shape))
    return { what: 'the tool is free', mostMicroUsd: zeroUsd, approval: 'not_needed', because: null }
  const read = readArguments(tool.input, given)
  if (read.issues) throw wrongArguments(tool, read.given, read.issues)
  try {
    await tool.run(pricingContext(agent, context, worded), read.data)
  } catch (error) {
    if (error instanceof ToppedUp) return ofTopUp(agent, error.amountMicroUsd)
    if (error instanceof Priced) return ofCall(agent, error.price)
    throw ofThatTool(await explainRefusal(error, { tool, given: read.data, context }))
  }
  throw new Error(`${tool.name} ended without a paid request.`)
}

/** A refusal names arguments of the estimated tool, so they must not be explained as those of `estimate`. */
function ofThatTool(error: unknown): unknown {
  if (!(error instanceof ToolFailure)) return error
  const { refused = [], said = '', ...facts } = error.facts
  const reasons = refused.flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const lines = [said, ...reasons].filter(line => line !== '').join('\n')
  return new ToolFailure(lines === '' ? facts : { ...facts, said: lines })
}

/** Thrown in place of a paid request, and never seen outside this file. */
class Priced extends Error {
  readonly price: PricedCall

  constructor(price: PricedCall) {
    super('A paid request was priced.')
    this.price = price
  }
}

class ToppedUp extends Error {
  readonly amountMicroUsd: MicroUsd

  constructor(amountMicroUsd: MicroUsd) {
    super('A top-up was priced.')
    this.amountMicroUsd = amountMicroUsd
  }
}

function pricingContext(agent: PricingAgent, context: ToolContext, worded: Estimating['worded']): ToolContext {
  const price = async <O extends Operation>(operation: O, call: CallOf<O>): Promise<never> => {
    // The service returns a quote only to callers who can pay.
    if (operation.charge === 'quote' && agent.pays === 'nothing') throw cannotPay(agent)
    const { body } = call as { body?: unknown }
    await checkChoices(agent.models, operation, body)
    throw new Priced(await worded(() => priceCall(agent.client, agent.models, operation, body)))
  }
  return {
    ...context,
    call: (operation, call, options) =>
      isPaid(operation) ? price(operation, call) : context.call(operation, call, options),
    make: price,
    start: price,
    wallet: {
      ...context.wallet,
      async topUp(amountMicroUsd) {
        throw new ToppedUp(amountMicroUsd)
      },
    },
  }
}

/** Uses the same rules as the call itself. */
async function ofCall(
  { policy, records, state }: PricingAgent,
  { what, amountMicroUsd }: PricedCall,
): Promise<Estimate> {
  const situation = { isStopped: await records.read(() => isStopped(state.folder)) }
  const decision = decideCall(policy, situation, { what, quotedMicroUsd: amountMicroUsd })
  const priced = { what, mostMicroUsd: amountMicroUsd }
  switch (decision.kind) {
    case 'allowed':
      return { ...priced, approval: 'not_needed', because: null }
    case 'refused':
      return { ...priced, approval: 'refused', because: decision.refusal.sentence }
    case 'needs_approval':
      return { ...priced, approval: 'needed', because: 'because' in decision.facts ? decision.facts.because : null }
  }
}

/** A top-up costs its amount. Its caps depend on the offer, so only the payment itself reports them. */
async function ofTopUp({ policy, wallet }: PricingAgent, mostMicroUsd: MicroUsd): Promise<Estimate> {
  const { askAboveMicroUsd } = policy
  const isFirst = (await wallet?.status())?.asksNextPayment === true
  const what = 'a payment for the same amount of credit'
  if (isFirst) return { what, mostMicroUsd, approval: 'needed', because: 'It is the first payment of this wallet.' }
  return mostMicroUsd > askAboveMicroUsd
    ? { what, mostMicroUsd, approval: 'needed', because: `It is more than ${displayUsd(askAboveMicroUsd)}.` }
    : { what, mostMicroUsd, approval: 'not_needed', because: null }
}

const wrongArguments = (tool: Tool, given: unknown, issues: Parameters<typeof sayRefusedArguments>[2]): ToolFailure =>
  new ToolFailure({
    happened: `Invalid arguments for ${tool.name}: ${sayRefusedArguments(tool.input, given, issues)}`,
    charged: zeroUsd,
    next: 'Fix these fields within `arguments` and call estimate again.',
  })
