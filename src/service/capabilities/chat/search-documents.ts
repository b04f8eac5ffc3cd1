import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import { searchDocumentsTool } from '#contract/wire/vendor.ts'
import type { SearchResult } from '#engines/ports/engine.ts'

type Choice = ChatCompletion['choices'][number]

/** What was found as the call of a tool that nobody has to answer (brief §2.8; its arguments as published, §5.3). */
const documentsCall = (sources: readonly SearchResult[]) => ({
  id: 'web_search_call',
  type: 'function',
  function: {
    name: searchDocumentsTool,
    arguments: JSON.stringify({
      documents: sources.map(({ title, url, content, date }, index) => ({
        id: String(index),
        title,
        url,
        snippet: content,
        ...(date ? { published_at: date } : {}),
      })),
    }),
  },
})

/** Beside whatever tools the model itself calls. */
export const withDocuments = (choice: Choice, sources: readonly SearchResult[]): Choice => ({
  ...choice,
  message: { ...choice.message, tool_calls: [documentsCall(sources), ...(choice.message.tool_calls ?? [])] },
})

/** The same as a piece of a stream's first choice. */
export const documentsDelta = (sources: readonly SearchResult[]): ChatCompletionChunk['choices'][number] => ({
  index: 0,
  delta: { role: 'assistant', tool_calls: [{ index: 0, ...documentsCall(sources) }] },
  finish_reason: null,
})

/** A client joins the pieces of a call by its place, and the first place of the first choice is taken. */
export const behindDocuments = (chunk: ChatCompletionChunk): ChatCompletionChunk => ({
  ...chunk,
  choices: chunk.choices.map(choice =>
    choice.index === 0 && choice.delta.tool_calls?.length
      ? { ...choice, delta: { ...choice.delta, tool_calls: choice.delta.tool_calls.map(oneFurther) } }
      : choice,
  ),
})

const oneFurther = <Call extends object>(call: Call): Call => {
  const index = 'index' in call && typeof call.index === 'number' ? call.index : 0
  return { ...call, index: index + 1 }
}
