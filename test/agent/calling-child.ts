import { openAgent } from './open-agent.ts'

/** Makes paid calls, one unless told, from a process that a test kills while the answers are still to come. */
const [, , baseUrl = '', dataFolder = '', count = '1'] = process.argv
const agent = await openAgent({ baseUrl, dataFolder })
await Promise.all(Array.from({ length: Number(count) }, (_, at) => agent.chat(at === 0 ? 'hi' : `hi ${at}`)))
