import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { start, stop, stopFileName } from '#wallet/rules/stop-switch.ts'
import type { RoundJournal } from './journals.ts'

/** What the owner of the wallet switches it off with. */
export interface Switch {
  off(): Promise<void>
  on(): Promise<void>
}

/** By a file, where all processes share its folder and the draw says so; else by the row of all. */
export function switchOf(journal: RoundJournal, isFile: boolean): Switch {
  const file = join(journal.folderOf(0), stopFileName)
  if (isFile && journal.url === null)
    return { off: async () => writeFileSync(file, ''), on: async () => rmSync(file, { force: true }) }
  const decide = async (work: (nowMs: number) => ReturnType<typeof start>): Promise<void> => {
    const records = journal.open()
    await records.decide(work).finally(() => records.close())
  }
  return { off: () => decide(nowMs => stop('the harness', nowMs)), on: () => decide(() => start()) }
}
