import { longCallMs, pollMs } from '#agent/bounds.ts'
import { gate } from '../../agent/gate.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from '../../agent/open-agent.ts'
import { needsConsent, type PretendOptions, pretendService } from '../../agent/pretend-service.ts'
import { answerJson } from '../../client/little-server.ts'
import { manualClock } from '../../client/manual-clock.ts'
import { openHttp } from '../open-http.ts'
import { type Declared, type TaskClient, taskClient } from './task-client.ts'

export const video = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(1_000, 7)])

export type TestVideo = 'running' | 'done' | 'failed'

/**
 * A service whose video stands where `video` says and whose chats wait until `chat` is open, and the real server over HTTP
 * for an agent on one folder. Waits between two questions end as soon as somebody looks; a chat is a job at once.
 */
export async function taskWorld(service: PretendOptions = {}) {
  const closing: (() => Promise<unknown>)[] = []
  const clock = manualClock()
  const chat = gate()
  const world = { video: 'running' as TestVideo, asksChat: false }
  const waiting = new Set<() => void>()
  const server = await pretendService({
    credit: 5,
    ...service,
    async instead({ path, body }, response) {
      if (path.endsWith('/video/retrieve')) return retrieve(world.video, response)
      if (!path.endsWith('/chat/completions')) return false
      await chat.passed
      if (!world.asksChat || JSON.parse(body).consents) return false
      answerJson(response, 409, needsConsent)
      return true
    },
  })
  closing.push(server.close)

  const pause: AgentSetUp['pause'] = (ms, signal) =>
    ms === longCallMs
      ? chat.reached
      : new Promise((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
          if (ms <= pollMs.most) waiting.add(resolve)
        })
  const dataFolder = temporaryFolder()

  /** The server as a process starts it, on the same folder each time unless told. */
  async function open(more: Partial<AgentSetUp> = {}) {
    const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder, clock, pause, ...more })
    const http = await openHttp({ host: async () => agent.host, clock })
    let isOpen = true
    const close = async () => {
      if (isOpen) await http.close()
      isOpen = false
    }
    closing.push(close)
    const client = (declared: Declared = {}): TaskClient => taskClient(http.url, declared)
    return { agent, log: http.log, url: http.url, client, close }
  }

  /** Polls until the task has this state; each poll lets waiting processes ask the service again. */
  async function until(client: TaskClient, taskId: unknown, status: string) {
    for (let look = 0; look < 500; look++) {
      const task = await client.ask('tasks/get', { taskId })
      if (task.status === status) return task
      for (const wake of waiting) wake()
      waiting.clear()
    }
    throw new Error(`The task was never ${status}`)
  }

  return {
    ...{ world, server, clock, chat, open, until, dataFolder },
    async close() {
      chat.open()
      for (const close of closing.splice(0).reverse()) await close()
    },
  }
}

function retrieve(standing: TestVideo, response: Parameters<typeof answerJson>[0]): boolean {
  if (standing === 'done') response.writeHead(200, { 'content-type': 'video/mp4' }).end(video)
  else if (standing === 'failed') answerJson(response, 500, { error: 'Inference processing failed' })
  else answerJson(response, 200, { status: 'PROCESSING', average_execution_time: 60_000, execution_duration: 12_000 })
  return true
}
