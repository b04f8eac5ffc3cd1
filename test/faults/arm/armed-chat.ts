import { DemoChat as Real } from '#service/engines/demo/chat.ts'
import type { ChatCall } from '#service/engines/engine.ts'
import { around } from './around.ts'
import { comeBy } from './fault-orders.ts'

export * from '#service/engines/demo/chat.ts'

export class DemoChat extends Real {
  override complete(call: ChatCall) {
    return around('the chat engine', () => super.complete(call))
  }

  override async *stream(call: ChatCall) {
    comeBy('before the chat engine')
    let chunks = 0
    for await (const chunk of super.stream(call)) {
      yield chunk
      // Whoever reads has taken it by the time that the next one is asked for.
      if (++chunks === chunksBeforeMiddle) comeBy('between chunks')
    }
    comeBy('after the chat engine')
  }
}

const chunksBeforeMiddle = 5
