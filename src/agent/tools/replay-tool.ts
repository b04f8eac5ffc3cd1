import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { runTool, type ToolResult } from '#toolkit/run-tool.ts'
import type { Answered, ToolContext } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { CalledTool } from '#toolkit/tool-host.ts'
import { FormFile } from '#toolkit/values/form-file.ts'
import type { MadeMedia } from '../media/made-media.ts'
import { catalogue } from './catalogue.ts'

/** Whether the result of such a call can be made again once its answer is there. */
export const canReplay = ({ name }: CalledTool): boolean => Object.hasOwn(catalogue.tools, name)

/** What a tool makes of an answer that came later: it runs once more, with that answer in place of its paid call. */
export async function replayTool(
  context: ToolContext,
  { name, given }: CalledTool,
  operation: string,
  answered: Answered<Operation>,
): Promise<ToolResult> {
  const tool = await catalogue.tools[name]?.()
  if (!tool) throw new Error(`The catalogue has no ${name} any more.`)
  const outcome = await runTool(tool, given, () => answeredContext(context, operation, answered))
  if (outcome.kind === 'done') {
    const { kind: _kind, ...result } = outcome
    return result
  }
  if (outcome.kind === 'failed') throw new ToolFailure(outcome.facts)
  throw outcome.kind === 'fault' ? outcome.error : new Error(`${name} asked a person where nothing is bought.`)
}

/** Nothing is bought in it. What was sent has been sent, so files that were read for it may be gone. */
const answeredContext = (context: ToolContext, answeredId: string, answered: Answered<Operation>): ToolContext => ({
  ...context,
  call(operation, call, options) {
    if (operation.id === answeredId) return Promise.resolve(answered as never)
    if (isPaid(operation)) throw new Error(`${operation.id} would be bought once more.`)
    return context.call(operation, call, options)
  },
  make(operation) {
    if (operation.id === answeredId) return Promise.resolve({ ...(answered.answer as MadeMedia), paid: answered.paid })
    throw new Error(`${operation.id} would be bought once more.`)
  },
  start(operation) {
    throw new Error(`${operation.id} would be bought once more.`)
  },
  files: {
    asMediaUrl: async source => source,
    asFormFile: async path => new FormFile(new Uint8Array(), path, ''),
    saveText: (...given) => context.files.saveText(...given),
    preview: file => context.files.preview(file),
    saved: limit => context.files.saved(limit),
    readSaved: address => context.files.readSaved(address),
  },
})
