import { once } from 'node:events'
import { createServer } from 'node:net'
import { CliError } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { runningService } from '../data/service-admin.ts'
import { listenFailure } from '../serve/listen.ts'
import { ask, broken, type Finding, ok } from './finding.ts'

/** Whether the service could listen where it is to, or does already. */
export async function lookAtPort(at: { host: string; port: number }, folder: DataFolder): Promise<Finding[]> {
  const running = await runningService(folder)
  if (running) return [await lookAtRunning(running)]
  const server = createServer()
  try {
    server.listen(at.port, at.host)
    await once(server, 'listening')
    return [ok('port', `${at.host}:${at.port} is free.`)]
  } catch (error) {
    const failure = listenFailure(error, at)
    if (failure instanceof CliError) return [broken('port', failure.message, failure.nextStep)]
    const { code = 'an unknown reason' } = error as NodeJS.ErrnoException
    return [broken('port', `Nothing can listen on ${at.host}:${at.port} (${code}).`, 'Set another in `listen`.')]
  } finally {
    server.close()
  }
}

async function lookAtRunning({ url, pid }: { url: string; pid: number }): Promise<Finding> {
  const { status, body } = await ask(`${url}/readyz`)
  const who = `farebox serves this folder at ${url} (process ${pid})`
  if (status === 200) return ok('service', `${who}.`)
  const { error } = (body ?? {}) as { error?: unknown }
  const why = typeof error === 'string' ? error : status === 0 ? 'it does not answer' : `it answers ${status}`
  return broken('service', `${who}, and is not ready: ${why.replace(/\.$/, '')}.`, 'Look at its log.')
}
