import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import {
  parseModelSuffix,
  type ServiceParameters,
  type ServiceParametersEcho,
  type SuffixedModel,
} from '#contract/operations/service-parameters.ts'
import type { Web } from '#engines/ports/engine.ts'
import type { TextModel } from '../../models/model.ts'

/** The options of a request with the defaults of brief §2.8; a suffix of the model's name wins over the body. */
export interface ChatOptions {
  model: string
  echo: ServiceParametersEcho
  /** The engine searches by itself, and the service's standard search is passed over. */
  searchesX: boolean
}

export function chatOptions(
  request: Pick<ChatCompletionRequest, 'model' | 'service_parameters' | 'tools' | 'stream'>,
): ChatOptions {
  const suffixed = parseModelSuffix(request.model)
  refuseInvalid(suffixed)
  const asked: ServiceParameters = { ...request.service_parameters, ...suffixed.parameters }
  const searchesX = asked.enable_x_search ?? hasTool(request, 'x_search')
  if (searchesX && request.stream && asked.return_search_results_as_documents) {
    throw refusal(
      'return_search_results_as_documents',
      'a model’s own search is told at the end of a stream, after its tool calls; leave it out, or ask without stream',
    )
  }
  return { model: suffixed.model, echo: echoOf(asked, hasTool(request, 'web_search')), searchesX }
}

/** A published tool is another spelling of the option: of a search here of `auto`, because the model decides about any tool. */
const hasTool = ({ tools }: Pick<ChatCompletionRequest, 'tools'>, name: 'web_search' | 'x_search'): boolean =>
  (tools ?? []).some(({ type }) => type === name)

const echoOf = (asked: ServiceParameters, mayAlwaysSearch: boolean): ServiceParametersEcho => ({
  // A model that could do it would be of the contract; there is none here.
  enable_e2ee: false,
  enable_web_search: asked.enable_web_search ?? (mayAlwaysSearch ? 'auto' : 'off'),
  enable_web_citations: asked.enable_web_citations ?? false,
  enable_web_scraping: asked.enable_web_scraping ?? false,
  include_service_system_prompt: asked.include_service_system_prompt ?? true,
  include_search_results_in_stream: asked.include_search_results_in_stream ?? false,
  return_search_results_as_documents: asked.return_search_results_as_documents ?? false,
  ...(asked.character_slug === undefined ? {} : { character_slug: asked.character_slug }),
  strip_thinking_response: asked.strip_thinking_response ?? false,
  disable_thinking: asked.disable_thinking ?? false,
})

/** What this service or this model does not do is refused by its name, never ignored. */
export function checkOptions({ echo, searchesX }: ChatOptions, model: TextModel, web: Web): void {
  if (searchesX && !model.capabilities.supportsXSearch) {
    throw refusal(
      'enable_x_search',
      `${model.id} has no search of its own; leave it out, or choose a model whose record says supportsXSearch`,
    )
  }
  const searches = echo.enable_web_search !== 'off' && !searchesX
  if (searches && !web.search) throw refusal('enable_web_search', 'is not set up on this service; leave it out')
  if (searches && !model.capabilities.supportsWebSearch) {
    throw refusal('enable_web_search', `${model.id} takes no results of a search; leave it out`)
  }
  if (echo.enable_web_scraping && !web.pages) {
    throw refusal('enable_web_scraping', 'is not set up on this service; leave it out')
  }
}

function refuseInvalid(suffixed: SuffixedModel): void {
  const [first] = suffixed.invalid
  if (first) throw refusal(first.option, `allowed values: ${first.allowed}`, ['model'])
}

const refusal = (option: string, reason: string, path = ['service_parameters', option]) =>
  fieldError(path, `${option}: ${reason}`)
