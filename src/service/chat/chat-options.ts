import type { ChatCompletionRequest } from '#contract/chat.ts'
import {
  parseModelSuffix,
  type ServiceParameters,
  type ServiceParametersEcho,
  type SuffixedModel,
} from '#contract/service-parameters.ts'
import { fieldError } from '../field-error.ts'
import type { TextModel } from '../models/model.ts'
import type { Web } from '../service.ts'

/** The options of a request with the defaults of brief §2.8; a suffix of the model's name wins over the body. */
export interface ChatOptions {
  model: string
  echo: ServiceParametersEcho
}

export function chatOptions(
  request: Pick<ChatCompletionRequest, 'model' | 'service_parameters' | 'tools'>,
): ChatOptions {
  const suffixed = parseModelSuffix(request.model)
  refuseInvalid(suffixed)
  const asked: ServiceParameters = { ...request.service_parameters, ...suffixed.parameters }
  if (asked.enable_x_search)
    throw refusal('enable_x_search', 'no model of this service has a search of its own; leave it out')
  return { model: suffixed.model, echo: echoOf(asked, hasSearchTool(request)) }
}

/** The published tool is another spelling of `auto`: the model decides, as it does about any tool. */
export const hasSearchTool = ({ tools }: Pick<ChatCompletionRequest, 'tools'>): boolean =>
  (tools ?? []).some(({ type }) => type === 'web_search')

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
export function checkOptions({ echo }: ChatOptions, model: TextModel, web: Web): void {
  const searches = echo.enable_web_search !== 'off'
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
