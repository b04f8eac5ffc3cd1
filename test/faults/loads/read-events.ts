/** The data of the events of a stream, as they come. Throws where it breaks; ends early where the reader leaves. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) yield event.replace(/^data: /, '')
  }
}

/** Whether an event says that the stream has failed: whatever follows it, nothing was acknowledged. */
export const isFailure = (event: unknown): boolean => typeof event === 'object' && event !== null && 'error' in event
