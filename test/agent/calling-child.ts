import { openAgent } from './open-agent.ts'

/** Makes one paid call from a process that a test kills while the answer is still to come. */
const [, , baseUrl = '', stateFolder = ''] = process.argv
const agent = await openAgent({ baseUrl, stateFolder })
await agent.chat()
