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

/** How the client's user answers each request; texts are kept as they were shown. */
export interface JourneyUser {
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

/** A form as the user fills it in: all boxes ticked, or declined. */
export function formAnswer(user: JourneyUser, message: string, boxes: readonly string[]) {
  user.shown.push(message)
  if (!user.agrees) return { action: 'decline' as const }
  return { action: 'accept' as const, content: Object.fromEntries(boxes.map(box => [box, true])) }
}
