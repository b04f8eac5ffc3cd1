import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import { ServiceParameters } from '#contract/operations/service-parameters.ts'

/**
 * Whether a chat asks for something that is billed in addition to its tokens, or that runs another model: searches,
 * scraping, fallbacks, a cache that is kept longer than the price covers, or a member that the contract does not name.
 * Unknown members at deeper levels are only text.
 */
export const hasUnboundedExtras = (record: ModelRecord, body: ChatCompletionRequest): boolean =>
  hasOtherMembers(body, ChatCompletionRequest.shape) ||
  Boolean(body.fallbacks?.length) ||
  Boolean(body.tools?.some(isHostedTool)) ||
  keepsLonger(body) ||
  hasBilledOptions(record, body)

type Optioned = Pick<ChatCompletionRequest, 'service_parameters' | 'model'>

/** Options in the body or after the model's name. */
export const hasBilledOptions = (record: ModelRecord, body: Optioned): boolean =>
  optionsOf(record, body).some(isBilledOption)

/** A character adds its own text before the prompt. Its length is unknown here, so it counts as the whole context. */
export const hasCharacter = (record: ModelRecord, body: Optioned): boolean =>
  optionsOf(record, body).some(([option, value]) => option === 'character_slug' && value !== undefined)

const optionsOf = (record: ModelRecord, { service_parameters: options, model }: Optioned) => [
  ...Object.entries(options ?? {}),
  ...suffixOptions(record, model),
]

/** Whether a body has members that its schema does not name, whose cost is unknown. */
export const hasOtherMembers = (body: object, shape: object): boolean =>
  Object.entries(body).some(([name, value]) => value !== undefined && !Object.hasOwn(shape, name))

/** A function is the caller's own and costs nothing; any other tool is run and billed by someone else. */
const isHostedTool = (tool: object): boolean =>
  !('function' in tool) || ('type' in tool && tool.type !== undefined && tool.type !== 'function')

/** A record has one price for cache writes, for the shortest retention; services charge more for others. */
const keepsLonger = ({ prompt_cache_retention: retention, ...body }: ChatCompletionRequest): boolean =>
  ![undefined, null, 'default'].includes(retention) || hasLongCache(body)

const shortestCache = '5m'

/** Whether any part of a request asks for a longer retention. */
export function hasLongCache(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, member]) =>
    name === 'cache_control' ? !isShortCache(member) : hasLongCache(member),
  )
}

const isShortCache = (control: unknown): boolean =>
  typeof control !== 'object' ||
  control === null ||
  !('ttl' in control) ||
  [undefined, shortestCache].includes(control.ttl as string)

/** Options that a service bills unless they are off. */
const billedOptions: ReadonlySet<string> = new Set([
  'enable_web_search',
  'enable_web_scraping',
  'enable_x_search',
  'enable_web_citations',
])

function isBilledOption([option, value]: readonly [option: string, value: unknown]): boolean {
  if (value === undefined) return false
  if (!Object.hasOwn(ServiceParameters.shape, option)) return true
  return billedOptions.has(option) && value !== false && value !== 'false' && value !== 'off'
}

/** Options after the colon of a model's name. They are parsed here, so that none is skipped for being invalid. */
function suffixOptions({ id }: ModelRecord, model: string): [option: string, value: string][] {
  if (model === id) return []
  return model
    .slice(id.length + 1)
    .split(/&|:(?=\w+=)/)
    .map(pair => {
      const [option = '', ...rest] = pair.split('=')
      return [option, rest.join('=')]
    })
}
