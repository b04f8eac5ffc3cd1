import { copyFile, readFile, rename } from 'node:fs/promises'
import type { ChainFolder } from './chain-folder.ts'
import { LocalChainError } from './local-chain-error.ts'

/** `previous`: the saved state was torn, so the one before it is used, and what happened since is lost. */
export type SavedState = 'none' | 'saved' | 'previous'

/**
 * Makes sure that a chain can read what it will load. Anvil writes its state in place, so a kill at the wrong moment
 * leaves half a file; the state that the last start began with is kept beside it for that case.
 */
export async function prepareState(folder: ChainFolder): Promise<SavedState> {
  const saved = await look(folder.state)
  if (saved === 'whole') {
    await copyFile(folder.state, `${folder.previousState}.new`)
    await rename(`${folder.previousState}.new`, folder.previousState)
    return 'saved'
  }
  const previous = await look(folder.previousState)
  if (saved === 'missing' && previous === 'missing') return 'none'
  if (previous === 'whole') {
    await copyFile(folder.previousState, folder.state)
    return 'previous'
  }
  throw new LocalChainError(
    `The saved local chain ${folder.state} cannot be read; move its data folder away to begin anew.`,
  )
}

async function look(path: string): Promise<'whole' | 'torn' | 'missing'> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
  try {
    JSON.parse(text)
    return 'whole'
  } catch {
    return 'torn'
  }
}
