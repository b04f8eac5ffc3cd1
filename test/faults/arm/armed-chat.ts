import { setTimeout as sleep } from 'node:timers/promises'
import { DemoChat as Real } from '#engines/demo/chat.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import { slowPauseMs } from '../bounds.ts'
import { slowly } from '../loads/prompts.ts'
import { around } from './around.ts'
import { comeBy } from './fault-orders.ts'

export * from '#engines/demo/chat.ts'

export class DemoChat extends Real {
  override complete(call: ChatCall) {
    return around('the chat engine', () => super.complete(call))
  }

  override async *stream(call: ChatCall) {
    comeBy('before the chat engine')
    let chunks = 0
    for await (const chunk of isSlow(call) ? slowChat.stream(call) : super.stream(call)) {
      yield chunk
      // The reader has taken it by the time it requests the next one.
      if (++chunks === chunksBeforeMiddle) comeBy('between chunks')
    }
    comeBy('after the chat engine')
  }
}

const chunksBeforeMiddle = 5

const slowChat = new Real({ pause: (_, signal) => sleep(slowPauseMs, undefined, { signal }) })

const isSlow = ({ request }: ChatCall): boolean => {
  const content = request.messages.at(-1)?.content
  return typeof content === 'string' && content.startsWith(slowly)
}
