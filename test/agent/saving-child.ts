import { agentMigrations } from '#agent/state/schema.ts'
import { thisProcess } from '#wallet/ids.ts'
import { openState } from '#wallet/records/state.ts'

/** A process that saves the file of a job and that of a call, until it is killed. */
const [, , folder = '', jobId = '', callId = ''] = process.argv
const state = openState(folder)
state.prepare('agent', agentMigrations)
state.decide(db => {
  db.prepare(
    `INSERT INTO jobs (id, kind, service, queue_id, model, state, started_at_ms, saver)
       VALUES (?, 'video', 'https://x', 'q', 'm', 'running', 0, ?)`,
  ).run(jobId, thisProcess())
  db.prepare(
    `INSERT INTO paid_calls (id, request_hash, operation, state, owner, created_at_ms, updated_at_ms)
       VALUES (?, 'h', 'generateImage', 'sent', ?, 0, 0)`,
  ).run(callId, thisProcess())
})
state.close()
setInterval(() => {}, 60_000)
process.send?.('saving')
