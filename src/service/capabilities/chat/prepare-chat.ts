import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'
import type { SearchResult } from '#engines/ports/engine.ts'
import type { Line } from '#ledger/store/units.ts'
import type { Call } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import { citedCharacters } from './bounds.ts'
import type { ChatPlan } from './chat-plan.ts'
import { lookUp } from './look-up.ts'
import { citationsOf, webContext } from './web-context.ts'

/** A plan once the web has been looked at. */
export interface PreparedChat {
  request: ChatCompletionRequest
  /** What the answer says it did. */
  echo: ServiceParametersEcho
  sources: readonly SearchResult[]
  /** What the web costs beside the tokens. */
  lines: readonly Line[]
}

/** Looks at the web where the plan says so; after its hold was taken, before its engine is asked. */
export async function prepareChat(
  plan: ChatPlan,
  { fetcher, signal }: Pick<Call, 'fetcher' | 'signal'>,
  service: Service,
): Promise<PreparedChat> {
  const { request, options, web, model } = plan
  const { echo } = options
  const findings = web && (await lookUp(web, { web: service.web, log: service.log, fetcher, model, signal }))
  if (!web || !findings) return { request, echo, sources: [], lines: [] }
  const { sources, lines } = findings
  const context = webContext(findings, echo.enable_web_citations, web.contextBytes)
  return {
    request: context === null ? request : withContext(request, context),
    echo: sources.length ? { ...echo, web_search_citations: citationsOf(sources, citedCharacters) } : echo,
    sources,
    lines,
  }
}

/** After the instructions, which may stay in a cache, and before the conversation: some templates take no system message later. */
function withContext(request: ChatCompletionRequest, content: string): ChatCompletionRequest {
  const { messages } = request
  const at = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const place = at === -1 ? messages.length : at
  return { ...request, messages: [...messages.slice(0, place), { role: 'system', content }, ...messages.slice(place)] }
}
