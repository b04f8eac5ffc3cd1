/** A writer's thread that writes nothing and refuses every unit, at an operation that says how many units came with it. */
import { parentPort } from 'node:worker_threads'
import type { WriterAnswer, WriterRequest } from '#ledger/store/sqlite/writer-messages.ts'

const answer = (message: WriterAnswer) => parentPort?.postMessage(message)

parentPort?.on('message', (request: WriterRequest) => {
  if (request.ask === 'close') process.exit(0)
  if (request.ask !== 'commit') return
  const { units } = request
  answer({ answer: 'outcomes', list: units.map(() => ({ ok: false, why: 'invalid', op: units.length })) })
})
answer({ answer: 'ready' })
