import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { ChainFolder } from './chain-folder.ts'

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
