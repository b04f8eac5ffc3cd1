import {
  type ClientCapabilities,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Catalogue, FormField, PersonForm } from '#toolkit/define.ts'
import { sayRefusedArguments } from '#toolkit/run-tool.ts'
import { canAsk, formAnswer, formRequest } from '../calls/elicitation.ts'
import type { ListedPrompt } from '../listing.ts'

interface PromptCall {
  given: Record<string, string>
  declared: ClientCapabilities | undefined
  context: ServerContext
}

/**
 * Writes a listed prompt. A person chose it, so what they left out is asked from them where the client can; wrong arguments
 * are a protocol error that names them.
 */
export async function getPrompt(
  { prompts }: Pick<Catalogue, 'prompts'>,
  listed: ListedPrompt,
  { given, declared, context }: PromptCall,
): Promise<GetPromptResult | InputRequiredResult> {
  const prompt = await prompts[listed.name]?.()
  if (!prompt) throw new Error(`The listing has ${listed.name}, the catalogue has not.`)
  // Before a person is asked for the rest.
  checked(listed.name, prompt.arguments.partial(), given)
  const form = missing(listed, given)
  const answer = form && formAnswer(form, context)
  if (form && !answer && canAsk(context, declared)) return inputRequired({ inputRequests: formRequest(form) })
  const values = typeof answer === 'object' ? { ...given, ...answer } : given
  const parsed = checked(listed.name, prompt.arguments, values)
  const text = { type: 'text' as const, text: prompt.write(parsed) }
  const contents = [...(prompt.shows?.(parsed) ?? []), text]
  return { description: prompt.description, messages: contents.map(content => ({ role: 'user', content })) }
}

function checked<Arguments extends z.ZodObject>(name: string, schema: Arguments, values: unknown): z.output<Arguments> {
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  const wrong = sayRefusedArguments(schema, values, parsed.error.issues)
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The arguments of ${name} are not right: ${wrong}`)
}

/** A form for the arguments that a prompt cannot be written without; undefined where all are there. */
function missing(listed: ListedPrompt, given: Record<string, string>): PersonForm | undefined {
  const absent = listed.arguments.filter(({ name, required }) => required && given[name] === undefined)
  if (absent.length === 0) return undefined
  const fields: [string, FormField][] = absent.map(({ name, description }) => [
    name,
    { type: 'string', ...(description ? { description } : {}) },
  ])
  return {
    name: listed.name,
    message: `${listed.title}: ${listed.description}`,
    fields: Object.fromEntries(fields),
    required: absent.map(({ name }) => name),
  }
}
