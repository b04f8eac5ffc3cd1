/** One of several programs that speak the protocol, before one `farebox mcp --http`. */
export interface JourneyClient {
  call(tool: string, given: Record<string, unknown>): Promise<ToolAnswer>
  close(): Promise<void>
}

export interface ToolAnswer {
  isError: boolean
  text: string
  data: Record<string, unknown>
}

/** What the person at the client does with each question; texts are kept as they were shown. */
export interface JourneyPerson {
  agrees: boolean
  shown: string[]
}

export interface Result {
  content?: readonly { type: string; text?: string }[]
  structuredContent?: unknown
  isError?: boolean
}

export const asAnswer = ({ content = [], structuredContent, isError }: Result): ToolAnswer => ({
  isError: isError === true,
  text: content.flatMap(({ text }) => text ?? []).join('\n'),
  data: (structuredContent ?? {}) as Record<string, unknown>,
})

/** A form as the person fills it in: all boxes ticked, or none of it. */
export function formAnswer(person: JourneyPerson, message: string, boxes: readonly string[]) {
  person.shown.push(message)
  if (!person.agrees) return { action: 'decline' as const }
  return { action: 'accept' as const, content: Object.fromEntries(boxes.map(box => [box, true])) }
}
