import { z } from 'zod'
import { answerListOf } from '../schemas.ts'
import { percentDecoded } from '../wire/json.ts'

/** Options of a chat request in addition to OpenAI's (brief §2.8). If absent, the default of that table applies. */
const options = {
  character_slug: z.string().min(1).optional(),
  strip_thinking_response: z.boolean().optional(),
  disable_thinking: z.boolean().optional(),
  enable_e2ee: z.boolean().optional(),
  enable_web_search: z.enum(['off', 'on', 'auto']).optional(),
  enable_web_scraping: z.boolean().optional(),
  enable_x_search: z.boolean().optional(),
  enable_web_citations: z.boolean().optional(),
  include_search_results_in_stream: z.boolean().optional(),
  return_search_results_as_documents: z.boolean().optional(),
  include_service_system_prompt: z.boolean().optional(),
}

export const ServiceParameters = z.looseObject(options).meta({ id: 'ServiceParameters' })
export type ServiceParameters = z.output<typeof ServiceParameters>

/** Which options were applied to an answer. */
export const ServiceParametersEcho = z
  .strictObject({
    enable_e2ee: z.boolean(),
    enable_web_search: z.enum(['off', 'on', 'auto']),
    enable_web_citations: z.boolean(),
    enable_web_scraping: z.boolean(),
    include_service_system_prompt: z.boolean(),
    include_search_results_in_stream: z.boolean(),
    return_search_results_as_documents: z.boolean(),
    character_slug: z.string().optional(),
    strip_thinking_response: z.boolean(),
    disable_thinking: z.boolean(),
    web_search_citations: answerListOf(
      z.strictObject({
        title: z.string(),
        url: z.string(),
        content: z.string().optional(),
        date: z.string().optional(),
      }),
    ).optional(),
  })
  .meta({ id: 'ServiceParametersEcho' })
export type ServiceParametersEcho = z.output<typeof ServiceParametersEcho>

export interface SuffixedModel {
  model: string
  /** What the suffix sets; it overrides the body. */
  parameters: ServiceParameters
  /** Options with an invalid value in the suffix, each with its allowed values in words. */
  invalid: { option: string; allowed: string }[]
}

const suffixOptions: Readonly<Record<string, z.ZodType>> = options

function suffixValue(text: string): unknown {
  if (text === 'true') return true
  if (text === 'false') return false
  return text
}

const allowedValues = (option: string): string => {
  if (option === 'enable_web_search') return 'off, on, auto'
  return option === 'character_slug' ? 'the id of a public character' : 'true, false'
}

/**
 * Options are separated by `&`, or by a colon before another one
 * (`a:strip_thinking_response=true:enable_web_search=on`).
 */
const separator = /&|:(?=\w+=)/

/** All options together are shorter. Callers may send megabytes, and reading them all would take seconds. */
const suffixCharacters = 2_000

/**
 * Model names may contain colons, so the suffix starts at the last one before a `=`: `<model_id>:<option>=<value>[&…]`.
 */
export function parseModelSuffix(name: string): SuffixedModel {
  const equals = name.indexOf('=')
  const colon = equals === -1 ? -1 : name.lastIndexOf(':', equals)
  const suffix = name.slice(colon + 1)
  if (colon <= 0 || suffix.length > suffixCharacters) return { model: name, parameters: {}, invalid: [] }
  const parameters: Record<string, unknown> = {}
  const invalid: SuffixedModel['invalid'] = []
  for (const pair of suffix.split(separator)) {
    const [option = '', ...rest] = pair.split('=')
    const schema = Object.hasOwn(suffixOptions, option) ? suffixOptions[option] : undefined
    if (!schema) continue
    const parsed = schema.safeParse(suffixValue(percentDecoded(rest.join('='))))
    if (parsed.success) parameters[option] = parsed.data
    else invalid.push({ option, allowed: allowedValues(option) })
  }
  return { model: name.slice(0, colon), parameters, invalid }
}
