import type { ResponsesRequest } from '#contract/operations/responses.ts'
import type { Call, Reply } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import { planChat } from '../chat/chat-plan.ts'
import { completeChat } from '../chat/complete-chat.ts'
import { streamChat } from '../chat/stream-chat.ts'
import { chatRequest } from './chat-request.ts'
import { type ChatEvent, ResponseEvents } from './response-events.ts'
import { responseOf } from './response-of.ts'

/** A chat in other words: the same engine, the same charge, the same refusals. */
export async function answerResponse(call: Call, body: ResponsesRequest, service: Service): Promise<Reply> {
  const plan = await planChat(call, chatRequest(body), service)
  if (!body.stream) return completeChat(call, plan, service, responseOf)
  const told = new ResponseEvents()
  const keepStream: Call['keepStream'] = lastEvents =>
    call.keepStream(() => lastEvents().flatMap(event => told.end(event as ChatEvent)))
  const { events, brokenOff } = await streamChat({ ...call, keepStream }, plan, service)
  return {
    kind: 'events',
    events: translated(events, told),
    brokenOff: () => brokenOff().flatMap(event => told.end(event as ChatEvent)),
  }
}

/** The usage or an error is the last that a chat says; one that ends without either has gone wrong. */
async function* translated(events: AsyncIterable<unknown>, told: ResponseEvents): AsyncGenerator<unknown> {
  let isOver = false
  for await (const event of events as AsyncIterable<ChatEvent>) {
    isOver = event.usage !== undefined || event.error !== undefined
    yield* isOver ? told.end(event) : told.push(event)
  }
  if (!isOver) yield* told.end({ error: { message: 'Inference processing failed', code: null } })
}
