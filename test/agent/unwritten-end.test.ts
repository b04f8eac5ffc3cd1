import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { longCallMs, paidAnswerMs } from '#agent/bounds.ts'
import { stateFileName } from '#wallet/records/state.ts'
import { answerJson } from '../client/little-server.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

/** No real waits: a late answer never comes, and every other wait ends at once. */
const pause = (ms: number): Promise<void> =>
  ms === paidAnswerMs || ms === longCallMs ? new Promise(() => {}) : new Promise(resolve => setImmediate(resolve))

test.each(['lost', 'failed'])(
  'a call that has %s while its end could not be written is under way no more',
  async end => {
    let isWell = true
    const server = await pretendService({
      credit: 5,
      takesKeys: true,
      instead: ({ path }, response) => {
        if (isWell || !path.endsWith('/chat/completions')) return false
        // A 200 without an answer may have charged it.
        answerJson(response, end === 'failed' ? 400 : 200, { error: 'No.' })
        return true
      },
    })
    const dataFolder = temporaryFolder()
    const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder, pause })
    await agent.chat('another')
    isWell = false
    const db = new DatabaseSync(join(dataFolder, stateFileName))
    db.exec(`CREATE TRIGGER full BEFORE UPDATE OF state ON paid_calls WHEN NEW.state IN ('lost', 'failed')
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
    await expect(agent.chat('one')).rejects.toThrow()
    db.exec('DROP TRIGGER full')
    db.close()
    isWell = true
    const { answer } = await agent.chat('one')
    expect(answer.choices[0]?.message.content).toBe('answer 2')
    expect(server.ledger.chats).toBe(2)
    await agent.close()
    await server.close()
  },
  60_000,
)
