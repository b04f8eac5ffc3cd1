import { type CompleteRequest, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Choices } from '#toolkit/define.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { choicesMs, choicesShown } from '../bounds.ts'
import type { McpContext } from '../context.ts'
import type { Listing } from '../listing.ts'

type Params = CompleteRequest['params']

/** Values that begin as what was typed, then those that have it inside. A reference that is not listed is a protocol error. */
export async function completeArgument(mcp: McpContext, listing: Listing, { ref, argument }: Params) {
  const [key, choices] =
    ref.type === 'ref/prompt'
      ? await ofPrompt(mcp, listing, ref.name, argument.name)
      : await ofTemplate(mcp, listing, ref.uri)
  const values = typeof choices === 'function' ? await mcp.choices.get(key, () => look(mcp, choices)) : (choices ?? [])
  const typed = argument.value.toLowerCase()
  const fitting = values.filter(value => value.toLowerCase().includes(typed))
  const first = fitting.filter(value => value.toLowerCase().startsWith(typed))
  const ordered = [...first, ...fitting.filter(value => !first.includes(value))]
  return {
    completion: {
      values: ordered.slice(0, choicesShown),
      total: ordered.length,
      hasMore: ordered.length > choicesShown,
    },
  }
}

type Found = readonly [key: string, choices: Choices | undefined]

async function ofPrompt(
  { catalogue }: McpContext,
  { prompts }: Listing,
  name: string,
  argument: string,
): Promise<Found> {
  const listed = prompts.find(prompt => prompt.name === name)
  if (!listed?.arguments.some(one => one.name === argument)) throw unknown('argument of a prompt')
  const choices: Readonly<Record<string, Choices | undefined>> = (await catalogue.prompts[name]?.())?.choices ?? {}
  return [`prompt ${name} ${argument}`, choices[argument]]
}

async function ofTemplate({ catalogue }: McpContext, { resourceTemplates }: Listing, uri: string): Promise<Found> {
  const listed = resourceTemplates.find(({ uriTemplate }) => uriTemplate === uri)
  if (!listed) throw unknown('template')
  return [`resource ${listed.name}`, (await catalogue.resources[listed.name]?.())?.choices]
}

const unknown = (what: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no such ${what}; the lists of prompts and templates name them`,
  )

/** A call of its own, which nobody cancels: its values serve the next key too. */
async function look(mcp: McpContext, choices: (context: ToolContext) => Promise<readonly string[]>) {
  const host = await mcp.host()
  return choices(host.context({ signal: AbortSignal.timeout(choicesMs), report: () => {} }))
}
