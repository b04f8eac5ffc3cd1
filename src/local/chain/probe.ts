import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { CHAIN_RPC_TIMEOUT_MS } from '../limits.ts'
import type { ChainFolder } from './folder.ts'

/** A program that is a local chain: a process of its own, which outlives the one that starts it. */
export interface ChainProgram {
  /** As sentences call it. */
  name: string
  /** The program and its arguments. Throws `LocalChainError` where it is not installed. */
  command(folder: ChainFolder, port: number): [file: string, ...args: string[]]
  /** What it writes into its log when another program has the port. */
  portTaken: RegExp
  /** The id that the chain drew at its start, asked of whatever listens there; null where that is another program. */
  instanceOf(url: string): Promise<string | null>
}

export const loopbackUrl = (port: number): string => `http://127.0.0.1:${port}`

/** `gone`: nothing listens, or it is not the recorded chain. `silent`: something listens and does not answer. */
export type Probe = { is: 'ours'; instanceId: string } | { is: 'gone' } | { is: 'silent' }

/** Asks whether the recorded chain runs. A port may have gone to another program since, so its id must match. */
export async function probeChain(program: ChainProgram, { port, instanceId }: ChainRecord): Promise<Probe> {
  try {
    const found = await program.instanceOf(loopbackUrl(port))
    if (found === null || (instanceId !== null && instanceId !== found)) return { is: 'gone' }
    return { is: 'ours', instanceId: found }
  } catch (error) {
    if (isRefusedConnection(error)) return { is: 'gone' }
    return { is: error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'gone' }
  }
}

/** Members of a chain's answer about itself. */
export async function askFacts(url: string, method: string): Promise<Readonly<Record<string, unknown>>> {
  const facts = await askChain(url, method)
  return typeof facts === 'object' && facts !== null ? (facts as Record<string, unknown>) : {}
}

/** True also for a process of somebody else that has got the number since. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Asks a chain on loopback. Rejects with the socket's error, a `TimeoutError`, or an error with the chain's own words. */
export async function askChain(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(CHAIN_RPC_TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message?: unknown } } | null
  if (answer === null || typeof answer !== 'object' || answer.error) {
    throw new Error(`${method} was refused: ${String(answer?.error?.message ?? 'no JSON-RPC answer')}`)
  }
  return answer.result
}

/** True where nothing listens any more, as opposed to a chain that is slow or broken. */
export function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  return cause?.code === 'ECONNREFUSED' || cause?.code === 'ECONNRESET' || cause?.code === 'UND_ERR_SOCKET'
}

/** What one process leaves in the folder so that the next one finds the running chain. */
const ChainRecord = z.object({
  pid: z.int().positive(),
  port: z.int().min(1).max(65_535),
  /** The chain draws it at random at each start; null until it has answered for the first time. */
  instanceId: z.string().nullable(),
})
export type ChainRecord = z.infer<typeof ChainRecord>

/** Null where there is none, or none that can be read: then no chain is known to run. */
export async function readChainRecord(folder: ChainFolder): Promise<ChainRecord | null> {
  try {
    return ChainRecord.parse(JSON.parse(await readFile(folder.record, 'utf8')))
  } catch {
    return null
  }
}

/** Whole or not at all, so that a kill in between leaves a record that can be read. */
export async function writeChainRecord(folder: ChainFolder, record: ChainRecord): Promise<void> {
  const draft = `${folder.record}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(draft, folder.record)
}

export const removeChainRecord = (folder: ChainFolder): Promise<void> => rm(folder.record, { force: true })
