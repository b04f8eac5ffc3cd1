import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Catalogue } from '#toolkit/catalogue.ts'
import { sayRefusedArguments } from '#toolkit/refused-arguments.ts'

/** Writes a listed prompt. Wrong arguments are a protocol error that names them. */
export async function getPrompt(
  { prompts }: Pick<Catalogue, 'prompts'>,
  name: string,
  given: Record<string, string>,
): Promise<GetPromptResult> {
  const prompt = await prompts[name]?.()
  if (!prompt) throw new Error(`The listing has ${name}, the catalogue has not.`)
  const parsed = prompt.arguments.safeParse(given)
  if (!parsed.success) {
    const wrong = sayRefusedArguments(prompt.arguments, given, parsed.error.issues)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The arguments of ${name} are not right: ${wrong}`)
  }
  const text = prompt.write(parsed.data)
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}
