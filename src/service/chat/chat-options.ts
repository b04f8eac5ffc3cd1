import type { ChatCompletionRequest } from '#contract/chat.ts'
import { invalidRequest } from '#contract/errors.ts'
import {
  parseModelSuffix,
  type ServiceParameters,
  type ServiceParametersEcho,
  type SuffixedModel,
} from '#contract/service-parameters.ts'

/** The options of a request with the defaults of brief §2.8; a suffix of the model's name wins over the body. */
export interface ChatOptions {
  model: string
  echo: ServiceParametersEcho
}

const defaults: ServiceParametersEcho = {
  enable_e2ee: false,
  enable_web_search: 'off',
  enable_web_citations: false,
  enable_web_scraping: false,
  include_service_system_prompt: true,
  include_search_results_in_stream: false,
  return_search_results_as_documents: false,
  strip_thinking_response: false,
  disable_thinking: false,
}

/** What this service does not do; an option is refused by name, never ignored. */
const unavailable: readonly [option: keyof ServiceParameters, isAsked: (value: unknown) => boolean][] = [
  ['character_slug', value => value !== undefined],
  ['enable_web_search', value => value === 'on' || value === 'auto'],
  ['enable_web_scraping', value => value === true],
  ['enable_x_search', value => value === true],
  ['enable_web_citations', value => value === true],
  ['include_search_results_in_stream', value => value === true],
  ['return_search_results_as_documents', value => value === true],
]

export function chatOptions(request: Pick<ChatCompletionRequest, 'model' | 'service_parameters'>): ChatOptions {
  const suffixed = parseModelSuffix(request.model)
  refuseInvalid(suffixed)
  const asked: ServiceParameters = { ...request.service_parameters, ...suffixed.parameters }
  for (const [option, isAsked] of unavailable) {
    if (isAsked(asked[option])) throw refusal(option, 'is not available on this service; leave it out')
  }
  return {
    model: suffixed.model,
    echo: {
      ...defaults,
      include_service_system_prompt: asked.include_service_system_prompt ?? true,
      strip_thinking_response: asked.strip_thinking_response ?? false,
      disable_thinking: asked.disable_thinking ?? false,
    },
  }
}

function refuseInvalid(suffixed: SuffixedModel): void {
  const [first] = suffixed.invalid
  if (first) throw refusal(first.option, `allowed values: ${first.allowed}`, 'model')
}

function refusal(option: string, reason: string, field = `service_parameters.${option}`) {
  const message = `${option}: ${reason}`
  return invalidRequest({
    error: 'Invalid request parameters',
    details: { [field]: { _errors: [message] } },
    issues: [{ path: field.split('.'), message }],
  })
}
