import { z } from 'zod'
import { CliError } from '../command.ts'
import { type DataFolder, readFileIfThere } from './data-folder.ts'

/** What a running service leaves for the operator's commands. */
export const AdminRecord = z.object({ url: z.string(), token: z.string(), pid: z.number().int() })
export type AdminRecord = z.output<typeof AdminRecord>

/** The service that runs on a folder, or null where none does. A record that a killed process left is none. */
export async function runningService(folder: DataFolder): Promise<AdminRecord | null> {
  const text = await readFileIfThere(folder.admin)
  if (text === null) return null
  const record = AdminRecord.safeParse(parsed(text))
  return record.success && isAlive(record.data.pid) ? record.data : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const adminTimeoutMs = 15_000

const noAnswer = ['The service of this folder does not answer.', 'Start it again, then repeat this.'] as const

/** Its port is closed, so it was asked nothing: it ends at the moment, or was killed. */
export class ServiceGone extends CliError {}

/** Asks a running service to do an operator's command. */
export async function askService(service: AdminRecord, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(adminTimeoutMs),
  }).catch(error => {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    throw code === 'ECONNREFUSED' ? new ServiceGone(...noAnswer) : new CliError(...noAnswer)
  })
  const answer: unknown = await response.json().catch(() => null)
  if (response.ok) return answer
  const refusal = Refusal.safeParse(answer)
  const sentence = refusal.success ? refusal.data.error : `The service refused this (${response.status}).`
  throw new CliError(sentence, 'Check the arguments, then repeat this.')
}

/** Our own service's words for what was wrong. */
const Refusal = z.object({ error: z.string() })
